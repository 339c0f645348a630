"""Numerical radius and abscissa against closed forms and Rayleigh quotients."""

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.operators.general import numerical_abscissa, numerical_radius


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_a_jordan_block_has_its_closed_form(n: int) -> None:
    """Its numerical range is the disc of radius cos(π/(n+1))."""
    assert numerical_radius(np.eye(n, k=1)) == pytest.approx(np.cos(np.pi / (n + 1)), abs=1e-12)
    assert numerical_abscissa(np.eye(n, k=1)) == pytest.approx(np.cos(np.pi / (n + 1)), abs=1e-12)


def test_a_normal_matrix_has_its_spectral_radius() -> None:
    """The numerical range is the convex hull of the eigenvalues."""
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    M = U @ np.diag([0.3, -1.25, 0.8j, 0.5 - 0.9j, 0.1]) @ U.T
    assert numerical_radius(M) == pytest.approx(1.25, rel=1e-12)
    assert numerical_abscissa(M) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_no_rayleigh_quotient_exceeds_the_radius_and_one_comes_near(seed: int) -> None:
    """It is the largest modulus of x*Mx, and lies between half the norm and the norm."""
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6))
    radius = numerical_radius(M)
    heights = []
    for angle in np.linspace(0, 2 * np.pi, 3600, endpoint=False):
        turned = np.exp(1j * angle) * M
        heights.append(np.linalg.eigvalsh(0.5 * (turned + turned.conj().T))[-1])
    assert max(heights) <= radius * (1 + 1e-11)
    assert max(heights) >= radius * (1 - 1e-5)
    assert 0.5 * np.linalg.norm(M, 2) <= radius <= np.linalg.norm(M, 2)


def test_the_radius_turns_with_the_matrix() -> None:
    """Multiplying by a unit number turns the range about the origin."""
    M = np.random.default_rng(3).normal(size=(5, 5))
    assert numerical_radius(np.exp(1.234j) * M) == pytest.approx(numerical_radius(M), rel=1e-11)


def test_the_zero_matrix_has_radius_zero() -> None:
    """Its range is a point."""
    assert numerical_radius(np.zeros((3, 3))) == 0.0


def test_what_is_no_finite_square_matrix_is_refused() -> None:
    """A NaN would otherwise come back as a radius."""
    for function in (numerical_radius, numerical_abscissa):
        with pytest.raises(ResolventError, match="entry"):
            function([[0.0, 1.0], [0.0, np.nan]])
