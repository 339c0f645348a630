"""Percentile bootstrap over heads, over layers, or over both with the wider interval kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.interval import Interval
from resolvent.statistics.samples import InvalidSample, proper_level

if TYPE_CHECKING:
    from jaxtyping import Int64, Shaped

__all__ = ["Interval", "bootstrap"]


def bootstrap(
    statistic: Callable[[Int64[np.ndarray, " resampled"]], float],
    *,
    groups: Mapping[str, Shaped[np.ndarray, " rows"]],
    level: float,
    draws: int,
    rngs: Mapping[str, np.random.Generator],
) -> Interval:
    """Value of the statistic on all rows, with its percentile interval at the confidence level.

    `statistic(rows)` takes row numbers, repeats included, and returns a float, NaN where it is undefined. Each entry
    of `groups` names one way to resample (heads, layers) and gives every row's label: all rows of a label go together.
    A draw takes as many labels as there are, with replacement: `rngs[name].integers(labels, size=(draws, labels))`
    indexes the sorted labels. Generators of one state resample alike, so metrics given the same keys share their draws.

    The ends are order statistics of the defined draws, rounded outwards to the next one, so that no infinite metric
    is interpolated. An interval that the value lies outside of is widened to it. Of several groupings the interval of
    the greater width is returned; `undefined` counts the draws left out in all of them. Where every draw is undefined
    the ends are NaN; with no rows at all the value too, and the statistic is not called.

    The percentile interval is approximate: where effects of the layer decide a mean, 95 % intervals miss it in .064 of
    cases with 30 layers and .087 with 12 (normal effects); where heads are independent, over layers alone in about .1
    with 10 layers, the wider of both in .05.

    Raises InvalidSample for no grouping, no draws, labels of differing lengths or a grouping without a
    generator.
    Source: Efron and Tibshirani (1993), chapter 13; for labels of several rows Davison and Hinkley (1997), section 3.8.
    """
    rows = _rows(groups, draws, rngs)
    proper_level(level)
    if rows == 0:
        return Interval(math.nan, math.nan, math.nan)
    value = float(statistic(np.arange(rows)))
    widest: Interval | None = None
    undefined = 0
    for name, labels in groups.items():
        values = np.array([statistic(taken) for taken in _resamples(labels, draws, rngs[name])], dtype=np.float64)
        defined = np.sort(values[~np.isnan(values)])
        undefined += draws - len(defined)
        low, high = _percentile_ends(defined, value, level)
        if widest is None or _width(low, high) > _width(widest.low, widest.high):
            widest = Interval(value, low, high)
    assert widest is not None  # _rows refuses an empty mapping
    return Interval(value, widest.low, widest.high, undefined)


def _rows(groups: Mapping[str, np.ndarray], draws: int, rngs: Mapping[str, np.random.Generator]) -> int:
    lengths = {name: np.shape(labels) for name, labels in groups.items()}
    if len(set(lengths.values())) != 1 or any(len(shape) != 1 for shape in lengths.values()):
        raise InvalidSample(
            f"groups have the shapes {lengths}; needed is at least one, each a label a row, of one length"
        )
    if missing := sorted(set(groups) - set(rngs)):
        raise InvalidSample(f"no generator for the grouping {', '.join(missing)}; there is one for {sorted(rngs)}")
    if draws < 1:
        raise InvalidSample(f"draws is {draws}; needed is at least one")
    return next(iter(lengths.values()))[0]


def _resamples(labels: np.ndarray, draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Row numbers of each draw."""
    _, label_of, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(label_of, kind="stable"), np.cumsum(sizes)[:-1])
    picks = rng.integers(len(sizes), size=(draws, len(sizes)))
    if len(set(sizes)) == 1:
        table = np.stack(members)
        return (table[pick].ravel() for pick in picks)
    return (np.concatenate([members[label] for label in pick]) for pick in picks)


def _percentile_ends(defined: np.ndarray, value: float, level: float) -> tuple[float, float]:
    """The outward order statistics at (1 ∓ level)/2, widened to the value."""
    if len(defined) == 0:
        return math.nan, math.nan
    tail = (1 - level) / 2 * (len(defined) - 1)
    low = float(defined[math.floor(tail)])
    high = float(defined[len(defined) - 1 - math.floor(tail)])
    return (low, high) if math.isnan(value) else (min(low, value), max(high, value))


def _width(low: float, high: float) -> float:
    """Width of an interval; −inf where it is undefined, so that any defined one is wider."""
    if math.isnan(low):
        return -math.inf
    return 0.0 if low == high else high - low
