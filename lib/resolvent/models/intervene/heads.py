"""Heads silenced: their output is set to zero before the output projection mixes it with that of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import torch

from resolvent.errors import ResolventError
from resolvent.models.intervene.hooks import Edit, input_edit, intervention
from resolvent.models.intervene.receipts import Receipt
from resolvent.models.load import LoadedModel


def ablate_heads(loaded: LoadedModel, heads: Mapping[int, Sequence[int]]) -> AbstractContextManager[Receipt]:
    """Within the `with`, the named heads (layer -> heads) write nothing; biases of the projection stay.

    The same as zeroing the head's columns of the output projection. Places of the receipt: `layer l, head h`.
    Raises ResolventError for a layer or head that is not there, NoEffect where a head's output was zero already.
    """
    names = {layer: list(dict.fromkeys(chosen)) for layer, chosen in heads.items()}
    for layer, chosen in names.items():
        check_heads(loaded, layer, chosen)
    receipt = Receipt(
        f"{loaded.name}: ablation of heads", [_place(layer, head) for layer, chosen in names.items() for head in chosen]
    )

    def edit(layer: int, chosen: Sequence[int]) -> Edit:
        def silenced(joined: torch.Tensor) -> torch.Tensor:
            after = joined.clone()
            for head in chosen:
                part = _columns(loaded, joined, head)
                after[..., part] = 0
                receipt.note(_place(layer, head), joined[..., part], after[..., part])
            return after

        return silenced

    return intervention(
        receipt, [input_edit(output_projection(loaded, layer), edit(layer, chosen)) for layer, chosen in names.items()]
    )


def ablate_each_head(loaded: LoadedModel, layer: int, heads: Sequence[int]) -> AbstractContextManager[Receipt]:
    """Within the `with`, a pass of one text becomes a batch from this layer on: item i runs without head heads[i].

    The layers below and this layer's attention run once for all. Places and errors as those of `ablate_heads`; the
    model must be given a batch of one.
    """
    check_heads(loaded, layer, heads)
    receipt = Receipt(f"{loaded.name}: ablation of each head", [_place(layer, head) for head in heads])

    def each(joined: torch.Tensor) -> torch.Tensor:
        if len(joined) != 1:
            raise ResolventError(f"{receipt.what}: needs a batch of one text, found {len(joined)}")
        after = joined.repeat(len(heads), 1, 1)
        for item, head in enumerate(heads):
            part = _columns(loaded, joined, head)
            after[item, :, part] = 0
            receipt.note(_place(layer, head), joined[0, :, part], after[item, :, part])
        return after

    return intervention(receipt, [input_edit(output_projection(loaded, layer), each)])


def output_projection(loaded: LoadedModel, layer: int) -> torch.nn.Module:
    """The module of a layer that maps the concatenated outputs of its heads to the stream."""
    return loaded.blocks()[layer].get_submodule(loaded.family.output_projection)


def check_heads(loaded: LoadedModel, layer: int, heads: Sequence[int]) -> None:
    """Raises ResolventError where the model has no such layer or no such head."""
    if not 0 <= layer < loaded.layers:
        raise ResolventError(f"{loaded.name}: no layer {layer}; its layers are 0 to {loaded.layers - 1}")
    wrong = [head for head in heads if not 0 <= head < loaded.heads]
    if wrong or not heads:
        raise ResolventError(
            f"{loaded.name}: layer {layer}: heads {list(heads)} can't be ablated; its heads are 0 to {loaded.heads - 1}"
        )


def _columns(loaded: LoadedModel, joined: torch.Tensor, head: int) -> slice:
    width = joined.shape[-1] // loaded.heads
    return slice(head * width, (head + 1) * width)


def _place(layer: int, head: int) -> str:
    return f"layer {layer}, head {head}"
