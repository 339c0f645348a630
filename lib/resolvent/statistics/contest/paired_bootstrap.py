"""The paired bootstrap of pooled R² and of its differences: one set of resamples, and every metric on each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.interval import Interval

if TYPE_CHECKING:
    from jaxtyping import Float, Int64, Shaped

NO_SPREAD = 1e-12
"""A resample whose target varies by less than this share of its square about the mean of all heads has no R²."""


@dataclass(frozen=True, eq=False)
class Resamples:
    """How often each head is taken in each draw, by what is resampled."""

    counts: Mapping[str, Int64[np.ndarray, "draws heads"]]


def resamples(
    groups: Mapping[str, Shaped[np.ndarray, " heads"]], draws: int, rngs: Mapping[str, np.random.Generator]
) -> Resamples:
    """Draws of labels with replacement, all heads of a label together, exactly as `statistics.bootstrap` takes them."""
    counts = {}
    for name, labels in groups.items():
        unique, label_of = np.unique(labels, return_inverse=True)
        picks = rngs[name].integers(len(unique), size=(draws, len(unique)))
        cells = picks + len(unique) * np.arange(draws)[:, np.newaxis]
        taken = np.bincount(cells.ravel(), minlength=draws * len(unique)).reshape(draws, len(unique))
        counts[name] = taken[:, label_of]
    return Resamples(counts)


def shares_of_spread(
    numerators: Mapping[str, Float[np.ndarray, " heads"]],
    target: Float[np.ndarray, " heads"],
    of: Resamples,
    level: float,
) -> dict[str, Interval]:
    """Σ numerator / Σ (y − ȳ)² over heads, ȳ the mean within the resample, each with its interval at the level.

    Percentile ends, outwards to the next order statistic; the wider of what is resampled, widened to the value;
    draws without spread of the target are left out and counted. The value is NaN where all heads have one target.
    """
    y = target - target.mean()
    columns = np.column_stack([*numerators.values()])
    values = _shares(np.ones((1, len(y))), columns, y)[0]
    tail = (1 - level) / 2
    found = dict.fromkeys(numerators, Interval(math.nan, math.nan, math.nan))
    for counts in of.counts.values():
        shares = _shares(counts.astype(np.float64), columns, y)
        defined = np.sort(shares[~np.isnan(shares[:, 0])], axis=0)
        rank = math.floor(tail * (len(defined) - 1))
        for column, (name, value) in enumerate(zip(numerators, values.tolist(), strict=True)):
            kept = found[name]
            low, high = kept.low, kept.high
            if len(defined):
                lowest, highest = float(defined[rank, column]), float(defined[-1 - rank, column])
                if not math.isnan(value):
                    lowest, highest = min(lowest, value), max(highest, value)
                if math.isnan(low) or highest - lowest > high - low:
                    low, high = lowest, highest
            found[name] = Interval(value, low, high, kept.undefined + len(shares) - len(defined))
    return found


def one_less(share: Interval) -> Interval:
    """The interval of 1 − share: pooled R² from the share of the squared error."""
    return Interval(1 - share.value, 1 - share.high, 1 - share.low, share.undefined)


def _shares(counts: np.ndarray, columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(draws, columns); NaN in the rows of draws without spread."""
    about_all = counts @ y**2
    spread = about_all - (counts @ y) ** 2 / counts.sum(axis=1)
    spread[spread <= NO_SPREAD * about_all] = np.nan
    return (counts @ columns) / spread[:, np.newaxis]
