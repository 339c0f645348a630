from __future__ import annotations

import warnings

import numpy as np
import pytest
from scikit_reference import SCALERS
from scipy.special import ndtri

from resolvent.statistics.contest.preprocessing import SCALES, finite_values, indicators, rank_normal, standardised

INF = np.inf


def parts(heads=30, splits=4, seed=0):
    return np.random.default_rng(seed).random((splits, heads)) < 0.7


@pytest.mark.parametrize("name", SCALES)
def test_each_split_is_what_a_transformer_fitted_on_its_training_part_gives(name):
    """Many splits at once must be the same as one after the other; ties and constant columns included."""
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.standard_normal(30), np.floor(4 * rng.random(30)), np.full(30, 0.1), rng.random(30) < 0.1])
    train = parts()
    for split, scaled in enumerate(SCALES[name](x[np.newaxis], train)):
        fitted = SCALERS[name]().fit(x[train[split]])
        spread = np.ptp(x[train[split]], axis=0) > 0
        np.testing.assert_allclose(scaled[:, spread], fitted.transform(x)[:, spread], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", [standardised, rank_normal, finite_values])
def test_nothing_outside_the_training_part_enters_what_is_fitted(scale):
    """A tested head that moves the scale of the others has leaked into the fold."""
    rng = np.random.default_rng(2)
    x, train = rng.standard_normal((30, 5)), parts()[:1]
    x[[3, 11], 2] = INF, -INF
    moved = x.copy()
    moved[~train[0]] = 100 * rng.standard_normal((int((~train[0]).sum()), 5))
    of = (
        (lambda v: finite_values(v, train))
        if scale is finite_values
        else lambda v: scale(finite_values(v, train), train)
    )
    np.testing.assert_array_equal(of(x)[0][train[0]], of(moved)[0][train[0]])


def test_one_tested_head_does_not_move_another():
    """Each is mapped on its own through the training part."""
    x, train = np.random.default_rng(3).standard_normal((30, 2)), parts()[:1]
    first, second = np.flatnonzero(~train[0])[:2]
    moved = x.copy()
    moved[second] += 7.0
    for scale in SCALES.values():
        np.testing.assert_array_equal(scale(x[np.newaxis], train)[0, first], scale(moved[np.newaxis], train)[0, first])


def test_ties_share_their_mean_rank():
    """Of 1, 2, 2, 2, 5 the three twos hold the ranks 2 to 4, so their place is (3 − ½)/5, the middle."""
    x = np.array([1.0, 2, 2, 2, 5])[np.newaxis, :, np.newaxis]
    train = np.ones((1, 5), dtype=bool)
    np.testing.assert_allclose(rank_normal(x, train)[0, :, 0], ndtri([0.1, 0.5, 0.5, 0.5, 0.9]), atol=1e-15)


def test_tested_heads_go_through_the_training_parts_distribution():
    """Between two training heads half-way, equal to one its score, beyond all of them no further than the last."""
    x = np.array([1.0, 2, 3, 4, 2.5, 3, -9, 99])[np.newaxis, :, np.newaxis]
    train = np.arange(8)[np.newaxis] < 4
    places = [0.125, 0.375, 0.625, 0.875, 0.5, 0.625, 0.125, 0.875]
    np.testing.assert_allclose(rank_normal(x, train)[0, :, 0], ndtri(places), atol=1e-15)


def test_ranks_do_not_depend_on_a_monotone_change_of_units():
    """K and log2 K are the same rank-normal feature."""
    x, train = np.random.default_rng(4).standard_normal((30, 3)), parts()
    np.testing.assert_array_equal(rank_normal(x[np.newaxis], train), rank_normal(np.exp(x)[np.newaxis], train))


def test_infinite_values_become_the_extremes_of_the_training_part():
    """A tested head's larger value must not set what infinity stands for."""
    x = np.array([1.0, 5, INF, -INF, 7, -3])[:, np.newaxis]
    train = np.array([[True, True, True, True, False, False], [False, False, True, False, True, True]])
    np.testing.assert_array_equal(finite_values(x, train)[:, :, 0], [[1, 5, 5, 1, 7, -3], [1, 5, 7, -3, 7, -3]])


def test_a_feature_without_a_finite_value_is_constant():
    """Then only the indicator has anything to say."""
    x = np.array([INF, INF, -INF, 2.0])[:, np.newaxis]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = finite_values(x, np.array([[True, True, True, False]]))
    np.testing.assert_array_equal(out[0, :, 0], [0, 0, 0, 2])


def test_only_features_that_are_infinite_get_an_indicator():
    """−inf marks the floor of a logarithm and is replaced only (definitions, sections 2 and 9)."""
    x = np.array([[1.0, INF, -INF], [2.0, 3.0, 4.0]])
    np.testing.assert_array_equal(indicators(x), [[1.0], [0.0]])
    assert indicators(x[1:]).shape == (1, 0)


@pytest.mark.parametrize("value", [0.1, 1.0, 1e9 / 3, -7e-9])
def test_a_constant_feature_is_zero_where_its_mean_is_not_exact(value):
    """The mean of equal numbers can differ from them by a rounding, and dividing by that would make noise of it."""
    x = np.full((1, 30, 1), value)
    assert not standardised(x, parts()).any()
    assert not rank_normal(x, parts()).any()
