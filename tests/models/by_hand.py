"""What the tests of interventions share: plain passes, counts of hooks, and weights changed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from resolvent.models.load import LoadedModel


def logits(loaded: LoadedModel, ids: np.ndarray) -> torch.Tensor:
    """Of one plain pass over all texts together, (texts, n, vocabulary)."""
    with torch.inference_mode():
        return loaded.model(torch.as_tensor(ids), use_cache=False).logits


def mean_loss(loaded: LoadedModel, ids: np.ndarray) -> float:
    """Mean next-token cross-entropy of one text (n,), nats."""
    scores = torch.log_softmax(logits(loaded, ids[None])[0].double(), -1)
    return float(-scores[:-1].gather(1, torch.as_tensor(ids)[1:, None]).mean())


def hooks(loaded: LoadedModel) -> list[int]:
    """How many hooks every module has, and whether its `forward` was replaced."""
    return [
        len(part._forward_hooks) + len(part._forward_pre_hooks) + ("forward" in vars(part))
        for part in loaded.model.modules()
    ]


@contextmanager
def zeroed_head(loaded: LoadedModel, layer: int, head: int) -> Iterator[None]:
    """The head's columns of the output projection are zero: the same ablation by weight surgery."""
    block = loaded.blocks()[layer]
    path = {"gpt2": "attn.c_proj", "gpt_neox": "attention.dense"}.get(loaded.family.model_type, "self_attn.o_proj")
    projection = block.get_submodule(path)
    kept = projection.weight.detach().clone()
    # A Conv1D multiplies from the right: its inputs are rows.
    inputs = projection.weight.data if type(projection).__name__ == "Conv1D" else projection.weight.data.T
    width = inputs.shape[0] // loaded.heads
    inputs[head * width : (head + 1) * width] = 0
    try:
        yield
    finally:
        projection.weight.data.copy_(kept)
