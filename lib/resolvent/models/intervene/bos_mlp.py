"""The MLP's contribution to BOS removed, in chosen blocks, wholly or by a dose."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import torch

from resolvent.errors import ResolventError
from resolvent.models.intervene.hooks import Edit, intervention, output_edit
from resolvent.models.intervene.receipts import Receipt
from resolvent.models.load import LoadedModel


def scale_bos_mlp(loaded: LoadedModel, layers: Sequence[int], scale: float = 0.0) -> AbstractContextManager[Receipt]:
    """Within the `with`, the blocks of `layers` add `scale` times their MLP term at position 0, all of it elsewhere.

    scale  0 removes the term; at 1 nothing would change, which is refused
    The term is what the block adds, after any post-norm; in parallel blocks it is that block's MLP term. Places of the
    receipt: `layer l`. Raises ResolventError for layers or a scale that can't be, NoEffect where a term was zero.
    """
    chosen = list(dict.fromkeys(int(layer) for layer in layers))
    if not chosen or not all(0 <= layer < loaded.layers for layer in chosen):
        raise ResolventError(f"{loaded.name}: layers {list(layers)}; the model's are 0 to {loaded.layers - 1}")
    if not 0 <= scale < 1:
        raise ResolventError(f"{loaded.name}: scale {scale} of the MLP at BOS; it must be at least 0 and below 1")
    receipt = Receipt(f"{loaded.name}: MLP at BOS times {scale:g}", [f"layer {layer}" for layer in chosen])

    def edit(layer: int) -> Edit:
        def scaled(term: torch.Tensor) -> torch.Tensor:
            after = term.clone()
            after[:, 0] = scale * term[:, 0]
            receipt.note(f"layer {layer}", term[:, 0], after[:, 0])
            return after

        return scaled

    blocks = loaded.blocks()
    return intervention(
        receipt, [output_edit(blocks[layer].get_submodule(loaded.family.mlp_term), edit(layer)) for layer in chosen]
    )
