"""Where massive activations emerge: by how much a block's own MLP raises the norm at BOS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float64


def emergence_factors(
    bos_norm: Float64[np.ndarray, "texts layers"], without_mlp: Float64[np.ndarray, "texts layers"]
) -> Float64[np.ndarray, " layers"]:
    """Per layer l the ratio of BOS norm to the other tokens' at boundary l + 1, over the same without the MLP at BOS.

    bos_norm     ‖x_BOS‖ at boundary l + 1
    without_mlp  ‖x_BOS − MLP_l(x_BOS)‖ there: the block's MLP term left out at BOS alone
    The other tokens of the boundary are the same in both, so the factor is the ratio of these two; median over texts.
    0/0 is 1: nothing emerged.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where((bos_norm == 0) & (without_mlp == 0), 1.0, bos_norm / without_mlp)
    return np.median(factor, axis=0)
