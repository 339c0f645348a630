"""The singular values of a block's output edited, text by text; token mean and singular subspaces stay."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import torch
from jaxtyping import Float64

from resolvent.errors import ResolventError
from resolvent.models.intervene.hooks import intervention, output_edit
from resolvent.models.intervene.receipts import Receipt
from resolvent.models.load import LoadedModel

SpectrumEdit = Callable[[Float64[np.ndarray, " rank"]], Float64[np.ndarray, " rank"]]
"""From singular values, largest first, to as many new ones, each for the same pair of singular vectors."""


def edit_singular_values(loaded: LoadedModel, layer: int, edit: SpectrumEdit) -> AbstractContextManager[Receipt]:
    """Within the `with`, boundary `layer` + 1 of every text is X = 1 mᵀ + U diag(edit(σ)) Vᵀ, m its token mean.

    U, σ, V are those of the centred stream (tokens × width), in float64; σ has min(n − 1, width) values, since centring
    takes one direction away. Place of the receipt: `boundary l`. Raises ResolventError for a layer that is not there,
    or, while running, for an edit that gives another number of values, or negative or infinite ones; NoEffect where
    nothing was changed.
    """
    if not 0 <= layer < loaded.layers:
        raise ResolventError(f"{loaded.name}: no layer {layer}; its layers are 0 to {loaded.layers - 1}")
    place = f"boundary {layer + 1}"
    receipt = Receipt(f"{loaded.name}: edit of singular values", [place])

    def edited(stream: torch.Tensor) -> torch.Tensor:
        after = torch.stack([_edited(text, edit, receipt.what) for text in stream.double()]).to(stream.dtype)
        receipt.note(place, stream, after)
        return after

    return intervention(receipt, [output_edit(loaded.blocks()[layer], edited)])


def _edited(tokens: torch.Tensor, edit: SpectrumEdit, what: str) -> torch.Tensor:
    mean = tokens.mean(dim=0, keepdim=True)
    U, sigma, Vh = torch.linalg.svd(tokens - mean, full_matrices=False)
    rank = min(len(tokens) - 1, tokens.shape[1])
    before = sigma[:rank].cpu().numpy()
    wanted = np.asarray(edit(before.copy()), dtype=np.float64)
    if wanted.shape != before.shape or not np.isfinite(wanted).all() or (wanted < 0).any():
        raise ResolventError(
            f"{what}: {rank} finite values of at least 0 are needed, found {wanted.shape} with smallest "
            f"{wanted.min(initial=np.inf):.3g} and largest {wanted.max(initial=-np.inf):.3g}"
        )
    change = U[:, :rank] * torch.as_tensor(wanted - before, device=tokens.device) @ Vh[:rank]
    # Vectors of zero singular values are arbitrary and may lean on the mean.
    return tokens + change - change.mean(dim=0, keepdim=True)
