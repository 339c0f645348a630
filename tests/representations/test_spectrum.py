"""Matrix entropy and anisotropy against textbook spectra, and the bounds of one large token."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.representations import spectrum, spectrum_bounds


def of_singular_values(values: list[float], T: int, d: int, seed: int = 0) -> np.ndarray:
    """A T × d matrix with these singular values and random singular vectors."""
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.standard_normal((T, len(values))))
    V, _ = np.linalg.qr(rng.standard_normal((d, len(values))))
    return (U * values) @ V.T


@pytest.mark.parametrize(("T", "d"), [(5, 9), (9, 5)])
def test_equal_singular_values_have_the_largest_entropy(T: int, d: int):
    """r equal p_j: log2 r bits, share 1, anisotropy 1/r, whichever side is longer."""
    found = spectrum(of_singular_values([2.0] * 5, T, d))
    assert found.entropy_bits == pytest.approx(np.log2(5), abs=1e-12)
    assert found.entropy_share == pytest.approx(1.0, abs=1e-12)
    assert found.anisotropy == pytest.approx(0.2, abs=1e-12)


def test_entropy_is_of_squared_singular_values():
    """σ = (√3, 1): p = (¾, ¼), 0.8113 bits; of σ itself it would be 0.947."""
    found = spectrum(of_singular_values([np.sqrt(3), 1.0], 6, 4))
    assert found.entropy_bits == pytest.approx(2 - 0.75 * np.log2(3), abs=1e-12)
    assert found.entropy_share == pytest.approx((2 - 0.75 * np.log2(3)) / 2, abs=1e-12)
    assert found.anisotropy == pytest.approx(0.75, abs=1e-12)


def test_a_stack_is_its_members():
    """Leading axes are texts and boundaries."""
    X = np.random.default_rng(0).standard_normal((2, 3, 7, 4)).astype(np.float32)
    stack, bounds = spectrum(X), spectrum_bounds(X)
    for at in np.ndindex(2, 3):
        assert stack.entropy_bits[at] == pytest.approx(float(spectrum(X[at]).entropy_bits), abs=1e-12)
        assert bounds.entropy_bits[at] == pytest.approx(float(spectrum_bounds(X[at]).entropy_bits), abs=1e-12)


def test_it_is_not_centred():
    """Equal rows have rank one: entropy 0; centring would leave nothing."""
    found = spectrum(np.tile([1.0, 2.0, 3.0], (5, 1)))
    assert found.entropy_bits == pytest.approx(0.0, abs=1e-12)
    assert found.anisotropy == pytest.approx(1.0, abs=1e-12)


def test_scale_does_not_matter():
    """Squares of float32 activations may overflow or vanish; p_j may not."""
    X = np.random.default_rng(1).standard_normal((6, 8))
    expected = spectrum(X)
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(spectrum(scale * X).entropy_bits, expected.entropy_bits, rtol=1e-12)
        np.testing.assert_allclose(spectrum_bounds(scale * X).anisotropy, spectrum_bounds(X).anisotropy, rtol=1e-12)


@settings(max_examples=200, deadline=None)
@given(
    T=st.integers(2, 12),
    d=st.integers(2, 12),
    massive=st.floats(-3, 6),
    aligned=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_bounds_hold(T: int, d: int, massive: float, aligned: float, seed: int):
    """σ_1², dominance and anisotropy from below, entropy from above, for any norm and alignment of token 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, d))
    X[1:] = (1 - aligned) * X[1:] + aligned * rng.standard_normal((T - 1, 1)) * X[0]
    X[0] *= 10.0**massive
    squares = np.linalg.svd(X, compute_uv=False) ** 2
    found, bounds = spectrum(X), spectrum_bounds(X)
    assert squares[0] >= bounds.largest_square * (1 - 1e-12)
    assert found.anisotropy >= bounds.anisotropy * (1 - 1e-12)
    assert found.entropy_bits <= bounds.entropy_bits + 1e-9
    if squares[1:].sum() > 1e-10 * squares[0]:
        assert squares[0] / squares[1:].sum() >= bounds.dominance * (1 - 1e-4)


def test_the_bounds_are_attained_by_orthogonal_equals():
    """x_0 across from r − 1 orthogonal tokens of one norm: every bound is an equality."""
    X = np.diag([10.0, 2.0, 2.0, 2.0])
    found, bounds = spectrum(X), spectrum_bounds(X)
    assert bounds.norm_ratio == pytest.approx(100 / 12)
    assert bounds.alignment == 0
    assert bounds.largest_square == pytest.approx(100)
    assert bounds.dominance == pytest.approx(100 / 12)
    assert bounds.anisotropy == pytest.approx(float(found.anisotropy))
    assert bounds.entropy_bits == pytest.approx(float(found.entropy_bits))


def test_a_weak_first_token_bounds_nothing():
    """p < 1/r: the formula would fall below the largest entropy there is."""
    X = np.diag([0.1, 1.0, 1.0, 1.0])
    assert spectrum_bounds(X).entropy_bits == pytest.approx(2.0)
    assert spectrum(X).entropy_bits <= 2.0


def test_limits_are_defined():
    """Zero others, parallel others, a zero first token, all zero, one token: limits or NaN, no warning, no crash."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = spectrum_bounds(np.array([[3.0, 4.0], [0.0, 0.0]]))
        assert (alone.norm_ratio, alone.dominance, alone.anisotropy, alone.entropy_bits) == (np.inf, np.inf, 1.0, 0.0)
        assert np.isnan(alone.alignment)
        assert alone.largest_square == pytest.approx(25.0)
        parallel = spectrum_bounds(np.array([[3.0, 0.0], [1.0, 0.0]]))
        assert (parallel.alignment, parallel.dominance, parallel.entropy_bits) == (1.0, np.inf, 0.0)
        headless = spectrum_bounds(np.array([[0.0, 0.0], [1.0, 2.0]]))
        assert headless.norm_ratio == 0
        assert np.isnan([headless.alignment, headless.anisotropy, headless.entropy_bits, headless.dominance]).all()
        nothing = np.zeros((3, 2))
        assert np.isnan([spectrum(nothing).entropy_bits, spectrum(nothing).anisotropy]).all()
        assert np.isnan(spectrum_bounds(nothing).entropy_bits)
        one = spectrum(np.array([[1.0, 2.0]]))
        assert (one.entropy_bits, one.anisotropy) == (0.0, 1.0)
        assert np.isnan(one.entropy_share)
        assert spectrum_bounds(np.array([[1.0, 2.0]])).entropy_bits == 0.0
