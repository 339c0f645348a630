"""The exact interval of a proportion."""

from __future__ import annotations

import math

from resolvent.statistics.interval import Interval
from resolvent.statistics.samples import InvalidSample, proper_level


def clopper_pearson(successes: int, trials: int, level: float) -> Interval:
    """Two-sided Clopper–Pearson interval of successes / trials at the confidence level (0.95, say).

    It covers the true proportion with at least that probability, whatever the proportion and however few the trials.
    No trials: value NaN, interval [0, 1]. Raises InvalidSample unless 0 ≤ successes ≤ trials and 0 < level < 1.
    Source: Clopper and Pearson (1934), Biometrika 26, 404–413, in its beta-quantile form.
    """
    proper_level(level)
    if not 0 <= successes <= trials:
        raise InvalidSample(f"{successes} successes in {trials} trials; needed is 0 ≤ successes ≤ trials")
    if trials == 0:
        return Interval(value=math.nan, low=0.0, high=1.0)
    from scipy.special import betaincinv

    tail, failures = (1 - level) / 2, trials - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return Interval(value=successes / trials, low=low, high=high)
