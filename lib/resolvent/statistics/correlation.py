"""Rank correlation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.samples import InvalidSample

if TYPE_CHECKING:
    from jaxtyping import Real


def spearman(x: Real[np.ndarray, " rows"], y: Real[np.ndarray, " rows"]) -> float:
    """Spearman's rank correlation of x and y, ties at their mean rank.

    NaN where it is undefined: fewer than two rows, a constant x or y, or a NaN anywhere in either. A NaN is never
    left out silently; infinities are ranked. Formed in integers up to the last division, so that equal rankings give
    exactly 1 and the result is the same on every machine.

    Raises InvalidSample where x and y are not two vectors of one length.
    Source: the product-moment correlation of mean ranks, as in scipy.stats.spearmanr.
    """
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim != 1 or x.shape != y.shape:
        raise InvalidSample(f"x has the shape {x.shape}, y {y.shape}; needed are two vectors of one length")
    if len(x) < 2 or np.isnan(x).any() or np.isnan(y).any():
        return math.nan
    a, b = _twice_centred_ranks(x), _twice_centred_ranks(y)
    squares = int(a @ a) * int(b @ b)
    return int(a @ b) / math.sqrt(squares) if squares else math.nan


def _twice_centred_ranks(x: np.ndarray) -> np.ndarray:
    """Twice the mean ranks less twice their mean: integers that sum to zero."""
    order = np.argsort(x)
    ascending = x[order]
    starts = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1], [True])))
    ranks = np.empty(len(x), dtype=np.int64)
    ranks[order] = np.repeat(starts[:-1] + starts[1:] - len(x), np.diff(starts))
    return ranks
