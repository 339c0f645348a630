from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from resolvent.statistics import InvalidSample, clopper_pearson


@pytest.mark.parametrize("trials", [1, 2, 10, 19, 213])
def test_it_is_scipys_exact_interval(trials):
    """The same interval by root finding in the binomial's tails."""
    for successes in {0, 1, trials // 2, trials - 1, trials}:
        interval = clopper_pearson(successes, trials, 0.95)
        reference = stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
        assert (interval.low, interval.high) == pytest.approx((reference.low, reference.high), abs=1e-9)
        assert interval.low <= interval.value <= interval.high


@pytest.mark.parametrize("trials", [5, 10, 30, 200])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_it_covers_every_proportion_at_least_at_its_level(trials, level):
    """Each end misses with at most half of 1 − level: computed exactly, so no simulation can be unlucky."""
    intervals = [clopper_pearson(k, trials, level) for k in range(trials + 1)]
    low, high = (np.array([getattr(i, end) for i in intervals]) for end in ("low", "high"))
    for proportion in np.linspace(0.001, 0.999, 500):
        mass = stats.binom.pmf(np.arange(trials + 1), trials, proportion)
        assert mass[low > proportion].sum() <= (1 - level) / 2 + 1e-12
        assert mass[high < proportion].sum() <= (1 - level) / 2 + 1e-12


def test_no_trials_leave_everything_open():
    """No head qualified: the proportion is undefined and nothing is excluded."""
    interval = clopper_pearson(0, 0, 0.95)
    assert math.isnan(interval.value)
    assert (interval.low, interval.high) == (0, 1)


@pytest.mark.parametrize(("successes", "trials", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 95)])
def test_impossible_counts_and_levels_are_refused(successes, trials, level):
    """They are mistakes of the caller, not proportions."""
    with pytest.raises(InvalidSample):
        clopper_pearson(successes, trials, level)
