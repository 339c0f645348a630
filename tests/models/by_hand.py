"""What the tests of interventions compare with: passes written out by hand, weights changed by hand, hooks counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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


Edit = Callable[[int, torch.Tensor], torch.Tensor]


def _as_it_is(_index: int, tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def forward(
    loaded: LoadedModel, ids: np.ndarray, *, boundary: Edit = _as_it_is, mlp: Edit = _as_it_is
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Boundaries and logits of a pass whose residual algebra is written out here, block by block.

    boundary  (l, stream) -> stream at boundary l
    mlp       (layer, term) -> the term that the block adds
    Masks and positions are those that the model itself gives its attention modules.
    """
    given: list[dict[str, Any]] = []
    handles = [
        block.get_submodule(loaded.family.attention).register_forward_pre_hook(
            lambda _module, _inputs, keywords: given.append(
                {k: v for k, v in keywords.items() if k != "hidden_states"}
            ),
            with_kwargs=True,
        )
        for block in loaded.blocks()
    ]
    streams: list[torch.Tensor] = []
    handles.append(
        loaded.blocks()[0].register_forward_pre_hook(
            lambda _module, inputs, keywords: streams.append(inputs[0] if inputs else keywords["hidden_states"]),
            with_kwargs=True,
        )
    )
    logits(loaded, ids)
    for handle in handles:
        handle.remove()
    with torch.inference_mode():
        streams[0] = boundary(0, streams[0])
        for layer, block in enumerate(loaded.blocks()):
            streams.append(boundary(layer + 1, _block(loaded, block, streams[-1], layer, given[layer], mlp)))
        return streams, _head(loaded, streams[-1])


def _block(
    loaded: LoadedModel, block: Any, x: torch.Tensor, layer: int, given: dict[str, Any], mlp: Edit
) -> torch.Tensor:
    family = loaded.family.model_type
    if family == "gpt2":
        x = x + block.attn(block.ln_1(x), **given)[0]
        return x + mlp(layer, block.mlp(block.ln_2(x)))
    if family == "gpt_neox":
        attended = block.attention(block.input_layernorm(x), **given)[0]
        if block.use_parallel_residual:
            return x + attended + mlp(layer, block.mlp(block.post_attention_layernorm(x)))
        x = x + attended
        return x + mlp(layer, block.mlp(block.post_attention_layernorm(x)))
    attended = block.self_attn(block.input_layernorm(x), **given)[0]
    if family == "gemma3_text":
        x = x + block.post_attention_layernorm(attended)
        return x + mlp(layer, block.post_feedforward_layernorm(block.mlp(block.pre_feedforward_layernorm(x))))
    x = x + attended
    return x + mlp(layer, block.mlp(block.post_attention_layernorm(x)))


def _head(loaded: LoadedModel, x: torch.Tensor) -> torch.Tensor:
    names = {"gpt2": "transformer.ln_f", "gpt_neox": "gpt_neox.final_layer_norm"}
    norm = loaded.model.get_submodule(names.get(loaded.family.model_type, "model.norm"))
    scores = loaded.model.get_output_embeddings()(norm(x))
    cap = getattr(loaded.model.config, "final_logit_softcapping", None)
    return scores if cap is None else cap * torch.tanh(scores / cap)
