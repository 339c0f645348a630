"""Massive activations: coordinates of the stream at BOS that are far larger than all others (definitions §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from resolvent.errors import ResolventError

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def massive_ratio(
    largest: Float[np.ndarray, "texts boundaries"], typical: Float[np.ndarray, "texts boundaries"]
) -> float:
    """Largest |x_d| at BOS over the median |x| of its boundary: the maximum over boundaries, median over texts.

    largest  max |x_d| over dims at BOS
    typical  median |x| over the positions and dims of the boundary; a boundary that is mostly zero gives infinity
    """
    with np.errstate(divide="ignore"):
        return float(np.median((np.asarray(largest, dtype=np.float64) / typical).max(axis=-1)))


def largest_dims(magnitudes: Float[np.ndarray, "texts boundaries width"], count: int) -> Int[np.ndarray, " count"]:
    """The dims with the largest magnitude at BOS over boundaries and texts, largest first; of equals the lower dim.

    Raises ResolventError where there are fewer than `count` dims.
    """
    width = magnitudes.shape[-1]
    if not 0 < count <= width:
        raise ResolventError(f"{count} massive dims were asked for, the stream has {width}")
    return np.argsort(-magnitudes.max(axis=(0, 1)), kind="stable")[:count]


def onsets(series: Float[np.ndarray, "texts layers"]) -> tuple[Int[np.ndarray, " texts"], Float[np.ndarray, " texts"]]:
    """Per text the l ≥ 1 with the largest series_l − series_(l−1), the first of equals, and that jump.

    Raises ResolventError where a series has fewer than two values.
    """
    if series.shape[-1] < 2:
        raise ResolventError(f"an onset needs two layers at least, found {series.shape[-1]}")
    jumps = np.diff(np.asarray(series, dtype=np.float64), axis=-1)
    at = jumps.argmax(axis=-1)
    return at + 1, np.take_along_axis(jumps, at[..., None], axis=-1)[..., 0]
