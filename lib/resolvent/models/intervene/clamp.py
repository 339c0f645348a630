"""Chosen dims of the residual stream held at a value, at every residual boundary."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from resolvent.errors import ResolventError
from resolvent.models.intervene.hooks import Edit, Register, input_edit, intervention, output_edit
from resolvent.models.intervene.receipts import Receipt
from resolvent.models.load import LoadedModel

Positions = Literal["all", "bos"]


def clamp(
    loaded: LoadedModel,
    dims: Sequence[int],
    values: Float[np.ndarray, "boundaries dims"] | float = 0.0,
    *,
    positions: Positions = "all",
) -> AbstractContextManager[Receipt]:
    """Within the `with`, the stream has `values` in `dims` at boundary 0 (after the embeddings) and after each block.

    values     one number, or one a boundary and dim
    positions  all, or position 0 only
    What a block reads and what it adds to is the clamped stream; the final norm reads the last clamped boundary.
    Places of the receipt: `boundary l`. Raises ResolventError for dims or values that do not fit the model, NoEffect
    where a boundary held the values already.
    """
    width = int(loaded.model.get_input_embeddings().weight.shape[1])
    chosen = list(dict.fromkeys(int(dim) for dim in dims))
    if not chosen or len(chosen) != len(dims) or not all(0 <= dim < width for dim in chosen):
        raise ResolventError(f"{loaded.name}: dims {list(dims)} can't be clamped: distinct ones of 0 to {width - 1}")
    if positions not in ("all", "bos"):
        raise ResolventError(f"{loaded.name}: positions '{positions}' are unknown; allowed: all, bos")
    table = np.asarray(values, dtype=np.float32)
    if table.shape not in ((), (loaded.layers + 1, len(chosen))) or not np.isfinite(table).all():
        raise ResolventError(
            f"{loaded.name}: clamp values of shape {table.shape}; one finite number is needed, or (boundaries, dims) = "
            f"({loaded.layers + 1}, {len(chosen)})"
        )
    levels = torch.as_tensor(np.broadcast_to(table, (loaded.layers + 1, len(chosen))).copy())
    rows = slice(None) if positions == "all" else slice(0, 1)
    places = [f"boundary {boundary}" for boundary in range(loaded.layers + 1)]
    receipt = Receipt(f"{loaded.name}: clamp of dims {chosen}", places)

    def edit(boundary: int) -> Edit:
        level = levels[boundary].to(device=loaded.device, dtype=getattr(torch, loaded.dtype))

        def clamped(stream: torch.Tensor) -> torch.Tensor:
            after = stream.clone()
            after[:, rows, chosen] = level
            receipt.note(places[boundary], stream, after)
            return after

        return clamped

    blocks = loaded.blocks()
    registers: list[Register] = [input_edit(blocks[0], edit(0))]
    registers += [output_edit(block, edit(layer + 1)) for layer, block in enumerate(blocks)]
    return intervention(receipt, registers)
