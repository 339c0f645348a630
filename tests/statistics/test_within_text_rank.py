from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from resolvent.statistics import InvalidSample, smallest_p, texts_needed, within_text_rank


def mid_rank(values, which, tie):
    others = [v for i, v in enumerate(values) if i != which]
    below = sum(values[which] - v > tie for v in others)
    tied = sum(abs(values[which] - v) <= tie for v in others)
    return 1 + below + tied / 2


def enumerated(values, tie):
    """p and both tails by letting each of a text's values in turn play the real one, in all combinations."""
    texts, size = values.shape

    def s(real):
        return sum(mid_rank(list(values[t]), which, tie) - (size + 1) / 2 for t, which in enumerate(real))

    observed = s([0] * texts)
    law = [s(real) for real in itertools.product(range(size), repeat=texts)]
    lower, upper = np.mean([v <= observed for v in law]), np.mean([v >= observed for v in law])
    return min(1.0, 2 * min(lower, upper)), observed, lower, upper


samples = st.tuples(st.integers(1, 4), st.integers(2, 4)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=st.integers(0, 5).map(float))
)


@settings(max_examples=150, deadline=None)
@given(samples, st.sampled_from([0.0, 1.0]))
def test_the_law_equals_the_enumeration_of_who_plays_the_real_one(values, tie):
    """The null says only that every one of a text's values is equally likely to be the real one."""
    test = within_text_rank(values[:, 0], values[:, 1:].T, tie=tie)
    p, observed, lower, upper = enumerated(values, tie)
    assert test.p == pytest.approx(p, rel=1e-12)
    assert test.statistic == observed
    assert test.direction == np.sign(observed)
    if p <= 0.2:
        assert test.direction == (-1 if lower < upper else 1)  # the sign of S names the smaller tail


def test_ties_are_formed_pair_by_pair():
    """Being within the tie is not transitive, so a value ties with each neighbour and not with their whole chain."""
    test = within_text_rank(np.array([0.0]), np.array([[2e-6], [4e-6]]))
    assert test.statistic == 1.5 - 2
    assert test.p == pytest.approx(2 / 3)


def test_with_one_draw_and_no_ties_it_is_the_sign_test():
    """Two values a text leave only which of them is the larger."""
    rng = np.random.default_rng(1)
    real, draw = rng.standard_normal((2, 23, 40)) + np.linspace(-1, 1, 40)
    expected = [stats.binomtest(int(k), 23).pvalue for k in (real > draw).sum(axis=0)]
    np.testing.assert_allclose(within_text_rank(real, draw[np.newaxis]).p, expected, rtol=1e-12)


@pytest.mark.parametrize(("draws", "texts"), [(4, 8), (4, 32), (1, 5), (9, 3), (2, 200)])
def test_the_smallest_p_is_reached_by_a_real_value_outside_all_draws(draws, texts):
    """One of (d + 1)^m equally likely outcomes, counted for both tails."""
    null = np.random.default_rng(2).random((draws, texts))
    for real, direction in ((-1.0, -1), (2.0, 1)):
        test = within_text_rank(np.full(texts, real), null)
        assert test.p == pytest.approx(smallest_p(draws, texts), rel=1e-12)
        assert test.direction == direction


def test_all_ties_give_p_one():
    """Rounding noise below the tie must never become a sign."""
    noise = 1e-6 * np.random.default_rng(3).random((5, 32))
    test = within_text_rank(noise[0], noise[1:])
    assert test.p == 1
    assert test.statistic == test.direction == 0


def test_neither_order_nor_company_changes_a_bit():
    """A head's verdict may not depend on the order of texts or draws, nor on which heads are tested with it."""
    rng = np.random.default_rng(4)
    real, draws = rng.integers(0, 6, (16, 3, 5)) / 2, rng.integers(0, 6, (4, 16, 3, 5)) / 2
    whole = within_text_rank(real, draws)
    assert whole.p.shape == (3, 5)
    texts = rng.permutation(16)
    np.testing.assert_array_equal(within_text_rank(real[texts], draws[:, texts]).p, whole.p)
    np.testing.assert_array_equal(within_text_rank(real, draws[::-1]).p, whole.p)
    np.testing.assert_array_equal(within_text_rank(real[:, 1], draws[:, :, 1]).p, whole.p[1])


def test_negation_swaps_the_directions():
    """The test has no favourite side."""
    rng = np.random.default_rng(5)
    real, draws = rng.integers(0, 6, (8, 50)) / 2, rng.integers(0, 6, (4, 8, 50)) / 2
    one, other = within_text_rank(real, draws), within_text_rank(-real, -draws)
    np.testing.assert_allclose(one.p, other.p, rtol=1e-12)
    np.testing.assert_array_equal(one.direction, -other.direction)


def test_false_positives_stay_at_the_level_on_pure_nulls(pure_nulls, most_rejections, kind, texts):
    """The law is exact given each text's values, whatever their distribution."""
    heads = 6000
    test = within_text_rank(*pure_nulls.sample(kind, texts, heads, seed=11))
    for level in (0.05, 0.01):
        assert (test.p <= level).sum() <= most_rejections(heads, level)


def test_texts_needed_is_the_first_number_that_reaches_the_level():
    """A level that no data could reach is told from a result that isn't significant."""
    assert texts_needed(4, 0.05) == 3
    assert texts_needed(4, 0.05 / 270) == 6
    assert texts_needed(1, 0.05) == 6
    for draws, level in itertools.product((1, 2, 4, 16), (0.2, 0.05, 1e-4)):
        needed = texts_needed(draws, level)
        assert smallest_p(draws, needed) <= level
        assert needed == 1 or smallest_p(draws, needed - 1) > level
    with pytest.raises(InvalidSample, match="draws is 0"):
        texts_needed(0, 0.05)


def test_unusable_samples_are_refused_by_name():
    """A NaN would silently rank as tied with nothing; a missing axis would be taken for texts."""
    with pytest.raises(InvalidSample, match=r"draws\[0, 1\] is nan"):
        within_text_rank(np.zeros(2), np.array([[0.0, np.nan]]))
    with pytest.raises(InvalidSample, match=r"real has the shape \(2,\), draws \(3,\)"):
        within_text_rank(np.zeros(2), np.zeros(3))
    with pytest.raises(InvalidSample, match="at least one text"):
        within_text_rank(np.zeros((0, 3)), np.zeros((4, 0, 3)))
