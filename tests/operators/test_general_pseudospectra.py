"""ε-pseudospectra in the plane: published values, closed forms, and dense singular values."""

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.operators.general import pseudospectral_abscissa, pseudospectral_radius_general, pseudospectrum
from resolvent.operators.pseudospectral_radius import pseudospectral_radius


def grcar(n: int) -> np.ndarray:
    return np.eye(n) + np.eye(n, k=1) + np.eye(n, k=2) + np.eye(n, k=3) - np.eye(n, k=-1)


def jordan(n: int) -> np.ndarray:
    return np.eye(n, k=1)


def unitary(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))[0]


def test_grcar_has_its_published_extents() -> None:
    """Guglielmi & Overton's values, as asserted in the tests of Pseudospectra.jl."""
    M = grcar(100)
    assert pseudospectral_radius_general(M, 1e-4) == pytest.approx(2.852156, abs=5e-7)
    assert pseudospectral_abscissa(M, 1e-4) == pytest.approx(2.412765, abs=5e-7)
    assert np.linalg.eigvals(M).imag.max() == pytest.approx(2.2617668, abs=5e-8)


@pytest.mark.parametrize(("eps", "expected"), [(1e-1, 1.0971610), (1e-2, 0.9963738), (1e-3, 0.9681816)])
def test_a_long_jordan_block_has_its_published_radius(eps: float, expected: float) -> None:
    """Its pseudospectrum is a disc, so every angle is a maximum at once."""
    assert pseudospectral_radius_general(jordan(128), eps) == pytest.approx(expected, abs=5e-8)


@pytest.mark.parametrize("eps", [1e-1, 1e-2, 1e-3, 1e-6])
def test_a_short_jordan_block_has_its_closed_form(eps: float) -> None:
    """ρ_ε(J_2(0)) = √(ε + ε²), and the set is a disc."""
    assert pseudospectral_radius_general(jordan(2), eps) == pytest.approx(np.sqrt(eps + eps**2), rel=1e-10)
    assert pseudospectral_abscissa(jordan(2), eps) == pytest.approx(np.sqrt(eps + eps**2), rel=1e-10)


@pytest.mark.parametrize("n", [3, 8, 20])
def test_a_jordan_block_exceeds_the_root_of_eps(n: int) -> None:
    """A perturbation ε in the corner moves its eigenvalues to modulus ε^{1/n}."""
    assert pseudospectral_radius_general(jordan(n), 1e-4) >= 1e-4 ** (1 / n)


@pytest.mark.parametrize("eps", [1e-1, 1e-3])
def test_a_normal_matrix_reaches_eps_beyond_its_spectrum(eps: float) -> None:
    """Its pseudospectrum is the union of ε-discs about the eigenvalues."""
    U, eigenvalues = unitary(5, 1), np.array([0.3, -1.2, 0.8j, 0.5 - 0.9j, -1.1 + 0.3j])
    M = U @ np.diag(eigenvalues) @ U.conj().T
    assert pseudospectral_radius_general(M, eps) == pytest.approx(1.2 + eps, rel=1e-10)
    assert pseudospectral_abscissa(M, eps) == pytest.approx(0.5 + eps, rel=1e-10)


def test_zero_and_scalar_matrices_reach_eps() -> None:
    """Repeated eigenvalues put many singular values on the level at once."""
    assert pseudospectral_radius_general(np.zeros((3, 3)), 0.1) == pytest.approx(0.1, rel=1e-12)
    assert pseudospectral_abscissa(-np.eye(4), 0.1) == pytest.approx(-0.9, rel=1e-12)
    assert pseudospectral_radius_general([[2]], 0.25) == pytest.approx(2.25, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_inside_lies_beyond_the_extents(seed: int) -> None:
    """A dense grid of singular values sees the whole set, here with several components and complex entries."""
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(7, 7)) + (seed % 2) * 1j * rng.normal(size=(7, 7))
    eps = 0.15
    radius, abscissa = pseudospectral_radius_general(M, eps), pseudospectral_abscissa(M, eps)
    side = np.linspace(-1.05 * radius, 1.05 * radius, 241)
    inside = pseudospectrum(M, side, side) <= eps
    z = side[None, :] + 1j * side[:, None]
    assert np.abs(z[inside]).max() <= radius * (1 + 1e-9)
    assert z[inside].real.max() <= abscissa + 1e-9
    assert np.abs(z[inside]).max() >= radius - 2 * (side[1] - side[0])
    assert z[inside].real.max() >= abscissa - 2 * (side[1] - side[0])


@pytest.mark.parametrize("n", [1, 2, 5, 16])
@pytest.mark.parametrize("eps", [1e-1, 1e-2, 1e-3])
def test_causal_stochastic_matrices_reach_farthest_on_the_real_axis(n: int, eps: float) -> None:
    """The killed chain is non-negative up to signs, so no other angle can reach farther."""
    weights = np.tril(np.exp(3.0 * np.random.default_rng(n).standard_normal((n, n))))
    A = weights / weights.sum(axis=1, keepdims=True)
    A_dev = A.copy()
    A_dev[:, 0] -= 1.0
    A_dev[0] = 0.0
    assert pseudospectral_radius_general(A_dev, eps) == pytest.approx(pseudospectral_radius(A, eps), rel=1e-6)


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("kind", ["dense", "lower", "upper", "complex"])
def test_the_grid_equals_dense_singular_values(n: int, kind: str) -> None:
    """Neither the Schur form nor the inverse iteration may change a value, for small and larger matrices."""
    rng = np.random.default_rng(n)
    M = rng.normal(size=(n, n)) / np.sqrt(n)
    if kind == "complex":
        M = M + 1j * rng.normal(size=(n, n)) / np.sqrt(n)
    elif kind != "dense":
        M = (np.tril if kind == "lower" else np.triu)(M)
    x, y = np.linspace(-1.5, 1.5, 9), np.linspace(-1, 1, 7)
    values = pseudospectrum(M, x, y)
    assert values.shape == (7, 9)
    for k in range(7):
        for j in range(9):
            dense = np.linalg.svd((x[j] + 1j * y[k]) * np.eye(n) - M, compute_uv=False)[-1]
            assert values[k, j] == pytest.approx(dense, rel=1e-7, abs=1e-14)


def test_the_grid_is_right_at_and_beside_eigenvalues() -> None:
    """There the shifted matrix is singular and solves overflow; the value is zero up to rounding."""
    values = pseudospectrum(jordan(60), [0.0, 1e-9, 0.5], [0.0])
    assert values.shape == (1, 3)
    assert values[0, 0] == 0.0
    assert 0.0 <= values[0, 1] <= 1e-14
    assert values[0, 2] <= 1e-14


@pytest.mark.parametrize("eps", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("extent", [pseudospectral_radius_general, pseudospectral_abscissa])
def test_eps_must_be_positive(extent, eps: float) -> None:
    """At ε = 0 the set is the spectrum, for which the level line is not defined."""
    with pytest.raises(ResolventError, match="ε"):
        extent(np.eye(2), eps)


@pytest.mark.parametrize("M", [np.ones((2, 3)), [[np.nan]]])
def test_what_is_no_finite_square_matrix_is_refused(M: object) -> None:
    """All functions of the path share one check."""
    for call in (
        lambda: pseudospectral_radius_general(M, 0.1),
        lambda: pseudospectral_abscissa(M, 0.1),
        lambda: pseudospectrum(M, [0.0], [0.0]),
    ):
        with pytest.raises(ResolventError):
            call()
