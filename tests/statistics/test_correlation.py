from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from resolvent.statistics import InvalidSample, spearman

pairs = st.integers(2, 40).flatmap(
    lambda n: hnp.arrays(np.float64, (2, n), elements=st.integers(0, 6).map(float) | st.floats(-9, 9))
)


@settings(max_examples=80, deadline=None)
@given(pairs)
def test_it_is_the_correlation_of_mean_ranks(xy):
    """The definition, with scipy's ranks and numpy's correlation."""
    x, y = xy
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(spearman(x, y))
    else:
        expected = np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1]
        assert spearman(x, y) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(pairs)
def test_a_monotone_map_gives_exactly_one(xy):
    """Bounds compare with exact numbers, so equal rankings may not give 0.9999999."""
    x = xy[0]
    if len(set(x)) > 1:
        assert spearman(x, 2 * x) == 1.0
        assert spearman(x, -x) == -1.0


def test_a_nan_anywhere_makes_it_undefined():
    """Leaving a head out silently would change what the metric is over."""
    x = np.arange(5.0)
    assert math.isnan(spearman(x, np.array([1, 2, np.nan, 4, 5])))
    assert math.isnan(spearman(x[:1], x[:1]))
    assert spearman(x, np.array([-np.inf, 1, 2, 3, np.inf])) == 1.0


def test_vectors_of_other_lengths_are_refused():
    """Broadcasting would correlate with a constant."""
    with pytest.raises(InvalidSample, match="two vectors of one length"):
        spearman(np.arange(3.0), np.arange(4.0))
