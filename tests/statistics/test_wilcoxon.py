from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from resolvent.statistics import InvalidSample, smallest_p_wilcoxon, wilcoxon_one_draw


def signed_rank(difference):
    return wilcoxon_one_draw(np.asarray(difference, dtype=float), np.zeros(len(difference)))


def enumerated(difference):
    """p by giving each magnitude every sign; ranks with the zeros in, sums without them (Pratt)."""
    ranks = stats.rankdata(np.abs(difference))
    nonzero = np.flatnonzero(difference)
    observed = (np.sign(difference) * ranks).sum()
    law = [np.dot(signs, ranks[nonzero]) for signs in itertools.product((-1, 1), repeat=len(nonzero))]
    return min(1.0, 2 * min(np.mean([v <= observed for v in law]), np.mean([v >= observed for v in law])))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_the_law_equals_the_enumeration_of_signs(difference):
    """Given the magnitudes, the null leaves each sign to a fair coin, with zeros and equal magnitudes too."""
    test = signed_rank(difference)
    assert test.p == pytest.approx(enumerated(np.array(difference)), rel=1e-12)


@pytest.mark.parametrize("texts", [1, 5, 8, 13, 32, 50])
def test_without_zeros_it_is_scipys_exact_test(texts):
    """There the exact law is tabulated elsewhere too."""
    difference = np.random.default_rng(texts).standard_normal((texts, 20)) + np.linspace(-0.8, 0.8, 20)
    test = wilcoxon_one_draw(difference, np.zeros_like(difference))
    reference = [stats.wilcoxon(column, method="exact").pvalue for column in difference.T]
    np.testing.assert_allclose(test.p, reference, rtol=1e-9)
    plus = [stats.wilcoxon(column, alternative="greater", method="exact").statistic for column in difference.T]
    np.testing.assert_allclose(test.statistic, np.array(plus) - texts * (texts + 1) / 4)


def test_with_zeros_it_is_scipys_permutation_test():
    """scipy enumerates the signs for up to 13 texts with zeros by Pratt."""
    rng = np.random.default_rng(9)
    for _ in range(5):
        difference = rng.standard_normal(9) * (rng.random(9) < 0.7)
        if difference.any():
            reference = stats.wilcoxon(difference, zero_method="pratt", method="auto").pvalue
            assert signed_rank(difference).p == pytest.approx(reference, rel=1e-9)


def test_few_nonzero_differences_cannot_look_significant():
    """Five signs have 32 outcomes, so p is at least 1/16, where the normal approximation says .03."""
    difference = np.array([0, 0, 0, 1, 2, 3, 4, 5.0])
    approximate = stats.wilcoxon(difference, zero_method="pratt", method="asymptotic").pvalue
    assert approximate == pytest.approx(0.0295, abs=5e-4)
    assert signed_rank(difference).p == 2 / 32


def test_differences_within_the_tie_are_zeros():
    """Rounding noise of K must never become a sign."""
    noise = 2e-6 * np.random.default_rng(3).random((32, 4))
    test = wilcoxon_one_draw(noise, np.zeros((32, 4)))
    assert (test.p == 1).all()
    assert not test.statistic.any()
    assert not test.direction.any()


@pytest.mark.parametrize("texts", [1, 6, 8, 32])
def test_the_smallest_p_is_reached_where_all_signs_agree(texts):
    """One of 2^m equally likely outcomes, counted for both tails."""
    for sign in (-1, 1):
        test = signed_rank(sign * np.arange(1, texts + 1))
        assert test.p == pytest.approx(smallest_p_wilcoxon(texts), rel=1e-12)
        assert test.direction == sign


def test_false_positives_stay_at_the_level_on_pure_nulls(pure_nulls, most_rejections, kind, texts):
    """Real and one draw are exchangeable, so their difference is symmetric about zero however skewed each is."""
    heads = 6000
    real, draws = pure_nulls.sample(kind, texts, heads, seed=12)
    test = wilcoxon_one_draw(real, draws[0])
    for level in (0.05, 0.01):
        assert (test.p <= level).sum() <= most_rejections(heads, level)


def test_the_mean_of_several_draws_is_not_a_valid_partner(pure_nulls, most_rejections, texts):
    """Real minus a mean of skewed draws is mostly negative under the null: sinks with few active rows seem suppressed.

    About one pure null in ten at 8 texts and one in four at 32, at level .05; hence no function for it.
    """
    heads = 6000
    real, draws = pure_nulls.sample(("few_active_rows", "bos_preserving"), texts, heads, seed=13)
    test = wilcoxon_one_draw(real, draws.mean(axis=0))
    assert (test.p <= 0.05).sum() > most_rejections(heads, 0.05)
    assert (test.p[test.direction < 0] <= 0.05).sum() > 0.9 * (test.p <= 0.05).sum()


def test_shapes_that_do_not_fit_are_refused():
    """Broadcasting would pair a text with another's draw."""
    with pytest.raises(InvalidSample, match="needed are"):
        wilcoxon_one_draw(np.zeros((8, 3)), np.zeros((8, 1)))
