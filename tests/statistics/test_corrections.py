from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.statistics import InvalidSample, benjamini_hochberg, holm

pytestmark = pytest.mark.usefixtures("little_garbage")

families = st.lists(st.integers(0, 400).map(lambda i: i / 4000), min_size=1, max_size=30)


@settings(max_examples=100, deadline=None)
@given(families)
def test_benjamini_hochberg_rejects_up_to_the_last_p_below_its_line(p):
    """The step-up rule as published: the largest k with p_(k) ≤ k·level/m."""
    ordered = np.sort(p)
    below = np.flatnonzero(ordered <= 0.05 * np.arange(1, len(p) + 1) / len(p) + 1e-15)
    expected = np.array(p) <= (ordered[below[-1]] if len(below) else -1)
    np.testing.assert_array_equal(benjamini_hochberg(np.array(p), 0.05), expected)


@settings(max_examples=100, deadline=None)
@given(families)
def test_holm_rejects_until_the_first_p_above_its_line(p):
    """The step-down rule as published: stop at the first p_(k) > level/(m − k + 1)."""
    ordered = np.sort(p)
    above = np.flatnonzero(ordered > 0.05 / np.arange(len(p), 0, -1) + 1e-15)
    stop = ordered[above[0]] if len(above) else 2.0
    np.testing.assert_array_equal(holm(np.array(p), 0.05), np.array(p) < stop)


@pytest.mark.parametrize("correction", [benjamini_hochberg, holm])
def test_the_family_is_the_whole_array(correction):
    """Layers × heads are one family; correcting by row would multiply the level."""
    p = np.array([[1e-4, 0.5], [0.02, 1.0]])
    np.testing.assert_array_equal(correction(p, 0.05), correction(p.ravel(), 0.05).reshape(2, 2))
    assert correction(np.zeros((0, 3)), 0.05).shape == (0, 3)


@pytest.mark.parametrize("correction", [benjamini_hochberg, holm])
def test_what_is_no_p_value_is_refused(correction):
    """A NaN would sort last and shrink the family."""
    with pytest.raises(InvalidSample, match=r"p\[1\] is nan"):
        correction(np.array([0.1, np.nan]), 0.05)
    with pytest.raises(InvalidSample, match=r"level is 5"):
        correction(np.array([0.1]), 5)
