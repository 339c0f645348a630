"""What each head is worth: next-token loss without it, head by head, with all that lies below it computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int

from resolvent.models.capture import token_cross_entropy
from resolvent.models.families import UnsupportedModel
from resolvent.models.intervene.heads import ablate_each_head
from resolvent.models.load import LoadedModel
from resolvent.models.preflight import LOGIT_TOLERANCE, PreflightError, check_call

LOGIT_BYTES, MAP_BYTES = 256 * 2**20, 2 * 2**20
"""Logits in memory at once, and attention maps of one layer, which a core's cache should hold: heads of a layer are
ablated in batches that keep to both (one head at least)."""


@dataclass(frozen=True)
class HeadLosses:
    """Mean next-token cross-entropy of one text, nats.

    base     of the untouched model
    without  with one head's output zeroed before the output projection
    """

    base: float
    without: Float64[np.ndarray, "layers heads"]


def head_losses(loaded: LoadedModel, token_ids: Int[np.ndarray, " n"], layers: Sequence[int]) -> HeadLosses:
    """The loss of a text without each head of the given layers.

    token_ids  BOS at position 0 and nowhere else
    layers     rows of `without`, in this order
    The stream below the ablated layer is that of one untouched pass; the heads of a layer are a batch. Raises
    PreflightError where the call is refused, or where the upper part run again without ablation does not give the loss
    of the untouched pass; NoEffect for a head whose output is zero.
    """
    check_call(loaded, token_ids[None])
    ids = torch.as_tensor(token_ids.astype(np.int64), device=loaded.device)
    with torch.inference_mode():
        streams, logits = _untouched(loaded, ids, layers)
        base = _mean_loss(logits[0], ids)
        del logits
        if layers:
            _check_resumed(loaded, ids, layers[0], streams[layers[0]], base)
        without = np.empty((len(layers), loaded.heads))
        batch = _heads_at_once(loaded, len(ids))
        for row, layer in enumerate(layers):
            for start in range(0, loaded.heads, batch):
                heads = range(start, min(start + batch, loaded.heads))
                with _resumed(loaded, layer, streams[layer]), ablate_each_head(loaded, layer, heads):
                    logits = _logits(loaded, ids)
                without[row, start : heads.stop] = [_mean_loss(item, ids) for item in logits]
                del logits
    return HeadLosses(base, without)


def _heads_at_once(loaded: LoadedModel, length: int) -> int:
    logits, maps = 4 * length * loaded.vocabulary, 4 * length**2 * loaded.heads
    return max(1, min(LOGIT_BYTES // logits, MAP_BYTES // maps))


def _logits(loaded: LoadedModel, ids: torch.Tensor) -> torch.Tensor:
    logits: torch.Tensor = loaded.model(ids[None], use_cache=False).logits
    return logits


def _mean_loss(logits: torch.Tensor, ids: torch.Tensor) -> float:
    return float(token_cross_entropy(logits[:-1], ids[1:]).mean(dtype=torch.float64))


def _untouched(
    loaded: LoadedModel, ids: torch.Tensor, layers: Sequence[int]
) -> tuple[dict[int, torch.Tensor], torch.Tensor]:
    """The stream that each of the layers reads, and the logits."""
    streams: dict[int, torch.Tensor] = {}

    def reads(layer: int) -> Any:
        def hook(_module: Any, inputs: tuple[Any, ...], keywords: dict[str, Any], output: Any) -> None:
            if not isinstance(output, torch.Tensor):
                raise UnsupportedModel(f"{loaded.name}: layer {layer} returns a {type(output).__name__}, not a tensor")
            streams[layer] = inputs[0] if inputs else keywords["hidden_states"]

        return hook

    blocks = loaded.blocks()
    with ExitStack() as stack:
        for layer in layers:
            stack.callback(blocks[layer].register_forward_hook(reads(layer), with_kwargs=True).remove)
        logits = _logits(loaded, ids)
    return streams, logits


@contextmanager
def _resumed(loaded: LoadedModel, layer: int, stream: torch.Tensor) -> Iterator[None]:
    """Within the `with`, a pass does nothing in the blocks below `layer`, which reads `stream`."""

    def passes_on(hidden_states: torch.Tensor, *_inputs: Any, **_keywords: Any) -> torch.Tensor:
        return hidden_states

    def reads(_module: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
        if inputs:
            return (stream, *inputs[1:]), keywords
        return inputs, {**keywords, "hidden_states": stream}

    blocks = loaded.blocks()
    with ExitStack() as stack:
        for block in blocks[:layer]:
            # An instance's own `forward` stands before that of its class; deleting it brings the class's back.
            block.forward = passes_on
            stack.callback(delattr, block, "forward")
        stack.callback(blocks[layer].register_forward_pre_hook(reads, with_kwargs=True).remove)
        yield


def _check_resumed(loaded: LoadedModel, ids: torch.Tensor, layer: int, stream: torch.Tensor, base: float) -> None:
    with _resumed(loaded, layer, stream):
        again = _mean_loss(_logits(loaded, ids)[0], ids)
    if not abs(again - base) <= LOGIT_TOLERANCE[loaded.dtype] * max(1.0, abs(base)):
        raise PreflightError(
            f"{loaded.name}: run again from layer {layer} the loss is {again:.8g}, untouched it is {base:.8g} nats; "
            "its blocks read more than the stream below them"
        )
