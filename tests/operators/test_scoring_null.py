"""D_head: planted rotations and reflections, against the full matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.operators.scoring import ScoringOperatorError, scoring_operator
from resolvent.operators.scoring_null import (
    LEAST_FRACTION,
    haar_orthogonal,
    rotational_deficit,
    rotational_fraction,
)


def rngs(count: int = 32, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, draw]) for draw in range(count)]


def factors(seed: int, d_head: int = 6, d_model: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((d_head, d_model)), rng.standard_normal((d_head, d_model))


@given(seed=st.integers(0, 1000), d=st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_haar_matrices_are_orthogonal_and_keyed(seed: int, d: int) -> None:
    """Orthogonal to rounding, and the same for the same generator."""
    found = haar_orthogonal(d, np.random.default_rng(seed))
    np.testing.assert_allclose(found @ found.T, np.eye(d), atol=1e-12)
    np.testing.assert_array_equal(found, haar_orthogonal(d, np.random.default_rng(seed)))


def test_haar_matrices_have_no_preferred_sign() -> None:
    """Without the signs of R the diagonal of Q would lean to one side: E[trace] is 0 under Haar."""
    rng = np.random.default_rng(5)
    traces = [np.trace(haar_orthogonal(4, rng)) for _ in range(4000)]
    assert abs(np.mean(traces)) < 4 / np.sqrt(4000)  # four standard errors: Var[trace] = 1
    assert np.var(traces) == pytest.approx(1, abs=0.1)


def test_a_rotation_is_all_off_the_axis_and_a_diagonal_none() -> None:
    """Fractions 1 and 0; a triangular matrix with zero diagonal has no eigenvalue at all."""
    assert rotational_fraction(np.array([[0.0, -2], [2, 0]])) == 1
    assert rotational_fraction(np.diag([1.0, -3])) == 0
    assert rotational_fraction(np.array([[0.0, 1], [0, 0]])) == 0


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_the_fraction_is_that_of_the_full_operator(seed: int) -> None:
    """log2 of the head's own fraction must be the one of `scoring_operator`, whatever the draws are."""
    query, key = factors(seed)
    found = scoring_operator(query, key).rotational_fraction
    one = rotational_deficit(query, key, rngs(5))
    other = rotational_deficit(key, query, rngs(5))  # the transposed operator: same spectrum, same singular values
    assert one == pytest.approx(other, abs=1e-6)
    sizes = np.linalg.svd(query.T @ key, compute_uv=False)[: len(query)]
    drawn = []
    for rng in rngs(5):
        left, right = haar_orthogonal(6, rng), haar_orthogonal(6, rng)
        drawn.append(rotational_fraction(left @ np.diag(sizes) @ right.T))
    expected = np.log2(max(found, LEAST_FRACTION)) - np.log2(max(np.median(drawn), LEAST_FRACTION))
    assert one == pytest.approx(expected, abs=1e-6)


def test_a_symmetric_operator_is_at_the_floor() -> None:
    """A head that only matches equal directions has no rotation: far below what its singular values leave room for."""
    query, _ = factors(2)
    deficit = rotational_deficit(query, query, rngs())
    assert -20 <= deficit < -19


def test_a_random_operator_has_no_deficit_in_the_median() -> None:
    """Free factors are turned like the draws: the median over heads is near 0."""
    deficits = [rotational_deficit(*factors(seed, 8, 64), rngs(seed=seed)) for seed in range(60)]
    assert abs(np.median(deficits)) < 0.25


def test_a_zero_operator_is_nan_and_other_shapes_are_refused() -> None:
    """0/0 is no number; transposed weights would give another operator."""
    assert np.isnan(rotational_deficit(np.zeros((2, 5)), np.ones((2, 5)), rngs()))
    with pytest.raises(ScoringOperatorError, match="d_head"):
        rotational_deficit(np.ones((5, 2)), np.ones((5, 2)), rngs())
    with pytest.raises(ScoringOperatorError, match="finite"):
        rotational_deficit(np.full((2, 5), np.nan), np.ones((2, 5)), rngs())
