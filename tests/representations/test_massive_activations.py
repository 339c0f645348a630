"""Massive dims, ratios and onsets on planted series."""

from __future__ import annotations

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.representations import emergence_factors, largest_dims, massive_ratio, onsets


def test_the_ratio_is_the_maximum_over_boundaries_and_the_median_over_texts():
    """One wild text must not make a model massive, one boundary must."""
    largest = np.array([[1.0, 50.0], [300.0, 1.0], [1e6, 1.0]])
    typical = np.array([[1.0, 0.5], [1.0, 1.0], [1.0, 1.0]])
    assert massive_ratio(largest, typical) == 300.0
    assert massive_ratio(largest, np.zeros((3, 2))) == np.inf


def test_massive_dims_are_the_largest_anywhere():
    """Over boundaries and texts together, not on average."""
    magnitudes = np.ones((2, 3, 6))
    magnitudes[1, 2, 4] = 9.0
    magnitudes[0, 0, 1] = 7.0
    magnitudes[0, 1, 5] = 8.0
    assert largest_dims(magnitudes, 3).tolist() == [4, 5, 1]
    assert largest_dims(np.ones((1, 1, 4)), 2).tolist() == [0, 1], "the lower of equal dims"
    with pytest.raises(ResolventError, match=r"7 massive dims.*has 6"):
        largest_dims(magnitudes, 7)


def test_the_onset_is_the_largest_jump():
    """Of l ≥ 1, by difference and not by ratio; the first of equals."""
    series = np.array([[1.0, 2.0, 9.0, 10.0], [0.0, 3.0, 3.0, 6.0], [5.0, 4.0, 2.0, 1.5]])
    at, jump = onsets(series)
    assert at.tolist() == [2, 1, 3]
    assert jump.tolist() == [7.0, 3.0, -0.5]
    with pytest.raises(ResolventError, match="two layers"):
        onsets(series[:, :1])


def test_emergence_is_the_norm_with_the_mlp_over_the_norm_without():
    """Median over texts of the ratio, not a ratio of medians."""
    bos = np.array([[10.0, 4.0], [30.0, 4.0], [1000.0, 4.0]])
    without = np.array([[5.0, 4.0], [10.0, 8.0], [1000.0, 2.0]])
    np.testing.assert_allclose(emergence_factors(bos, without), [2.0, 1.0])
    np.testing.assert_array_equal(emergence_factors(np.array([[0.0, 1.0]]), np.zeros((1, 2))), [1.0, np.inf])
