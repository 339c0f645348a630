"""The dominant mode is the top singular triple, with its sign fixed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.operators.causal import deflate
from resolvent.operators.dominant_mode import dominant_mode
from resolvent.operators.transient import PowerError, deviation_power_norms


def attention(n: int, seed: int) -> np.ndarray:
    weights = np.tril(np.exp(3 * np.random.default_rng(seed).standard_normal((n, n))))
    return weights / weights.sum(axis=1, keepdims=True)


@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_triple_is_the_top_of_an_svd(n: int, seed: int, k: int) -> None:
    """A dense SVD of the explicit power finds the same pair, up to the sign that is fixed here."""
    A = attention(n, seed)
    u, v, sigma = dominant_mode(A, k)
    left, values, right = np.linalg.svd(np.linalg.matrix_power(deflate(A), k))
    sign = np.sign(left[:, 0].sum())
    np.testing.assert_allclose(u, sign * left[:, 0], atol=1e-9)
    np.testing.assert_allclose(v, sign * right[0], atol=1e-9)
    assert sigma == pytest.approx(values[0], rel=1e-10)


@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.integers(1, 5000))
@settings(max_examples=60, deadline=None)
def test_mode_writes_upwards_and_reads_away_from_bos(n: int, seed: int, k: int) -> None:
    """N^k ≥ 0 has a non-negative top pair; undoing D flips entry 0 of both, and u_0 is 0."""
    u, v, _ = dominant_mode(attention(n, seed), k)
    assert u[0] == 0
    assert (u >= 0).all()
    assert v[0] < 0
    assert (v[1:] >= 0).all()
    assert np.linalg.norm(u) == pytest.approx(1, abs=1e-12)
    assert np.linalg.norm(v) == pytest.approx(1, abs=1e-12)


def test_a_mode_below_the_float_range_is_still_a_mode() -> None:
    """Only sigma underflows."""
    A = attention(12, 5)
    u, v, sigma = dominant_mode(A, 10**7)
    assert sigma == 0
    assert deviation_power_norms(A, 10**7) < -400
    assert np.linalg.norm(u) == pytest.approx(1)
    assert np.linalg.norm(v) == pytest.approx(1)


def test_limit_reads_what_is_absorbed() -> None:
    """Token 1 absorbs all: the limit of B^k is 1 e_1ᵀ, so every row writes alike and BOS and token 1 are read."""
    n = 9
    A = 0.99 * np.eye(n)
    A[:, 1] += 0.01
    A[:2] = np.eye(n)[:2]
    u, v, sigma = dominant_mode(A, math.inf)
    assert sigma == pytest.approx(math.sqrt(2 * (n - 1)))
    np.testing.assert_allclose(u[1:], 1 / math.sqrt(n - 1))
    np.testing.assert_allclose(v[:2], [-math.sqrt(0.5), math.sqrt(0.5)])
    np.testing.assert_allclose(v[2:], 0, atol=1e-15)


def test_nothing_is_amplified_where_the_power_is_zero() -> None:
    """All rows on BOS: A_dev = 0 has no direction."""
    A = np.zeros((4, 4))
    A[:, 0] = 1
    u, v, sigma = dominant_mode(A, 1)
    assert sigma == 0
    assert not u.any()
    assert not v.any()


@pytest.mark.parametrize("k", [0, -1, 1.5, math.nan])
def test_powers_are_whole_and_positive(k: float) -> None:
    """A mode belongs to one power, or to the limit."""
    with pytest.raises(PowerError):
        dominant_mode(np.eye(3), k)
