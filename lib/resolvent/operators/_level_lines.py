"""Where a line or a circle crosses the boundary of an ε-pseudospectrum: eigenvalues of matrices of twice the size."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.optimize

# Crossings are eigenvalues on a line or circle; rounding moves nearly double ones off it by the root of the precision.
# A wide band lets no crossing slip; what it lets in wrongly is sorted out by singular values afterwards.
BAND = 1e-5
# A point counts as inside where σ_min lies below ε by more than this share.
INSIDE = 1e-11


def smallest_singular_value(A: np.ndarray, z: complex) -> float:
    """σ_min(zI − A)."""
    return float(scipy.linalg.svdvals(z * np.eye(len(A)) - A)[-1])


def rightmost_crossing(A: np.ndarray, height: float, eps: float) -> float:
    """The largest x with σ_min((x + i·height)I − A) = eps; −inf where the line misses the ε-pseudospectrum."""
    scale = float(np.linalg.norm(A, 2)) + abs(height) + eps
    # A point x of the line is the imaginary part of an imaginary eigenvalue of the Hamiltonian matrix of iA.
    for x in np.sort(_imaginary_eigenvalues(1j * A, -height, eps, scale))[::-1]:
        crossing = _polished(A, float(x), height, eps, scale)
        if crossing is not None:
            return crossing
    return -np.inf


def inner_heights(A: np.ndarray, x: float, eps: float) -> list[float]:
    """Heights y, one on each segment that the vertical line at x has strictly inside the ε-pseudospectrum."""
    scale = float(np.linalg.norm(A, 2)) + abs(x) + eps
    heights = np.sort(_imaginary_eigenvalues(A, x, eps, scale))
    middles = 0.5 * (heights[1:] + heights[:-1])
    return [float(y) for y in middles if _inside(A, complex(x, y), eps)]


def inner_angles(A: np.ndarray, radius: float, eps: float) -> list[float]:
    """Angles, one on each arc that the circle of a radius has strictly inside the ε-pseudospectrum."""
    n = len(A)
    eye, zero = np.eye(n), np.zeros((n, n))
    # (A − zI)v = εu and (A − zI)*u = εv with z = radius·w, |w| = 1
    left = np.block([[-eps * eye, A], [radius * eye, zero]])
    right = np.block([[zero, radius * eye], [A.conj().T, -eps * eye]])
    w = scipy.linalg.eigvals(left, right)
    w = w[np.isfinite(w)]
    angles = np.sort(np.angle(w[np.abs(np.abs(w) - 1.0) <= BAND]))
    middles = 0.5 * (angles + np.append(angles[1:], angles[:1] + 2.0 * np.pi))
    return [float(angle) for angle in middles if _inside(A, radius * np.exp(1j * angle), eps)]


def _inside(A: np.ndarray, z: complex, eps: float) -> bool:
    return smallest_singular_value(A, z) < eps * (1.0 - INSIDE)


def _imaginary_eigenvalues(A: np.ndarray, x: float, eps: float, scale: float) -> np.ndarray:
    """All y for which some singular value of (x + iy)I − A equals eps."""
    n = len(A)
    eye = np.eye(n)
    hamiltonian = np.block([[x * eye - A.conj().T, eps * eye], [-eps * eye, A - x * eye]])
    eigenvalues = scipy.linalg.eigvals(hamiltonian)
    return eigenvalues.imag[np.abs(eigenvalues.real) <= BAND * scale]


def _polished(A: np.ndarray, x: float, height: float, eps: float, scale: float) -> float | None:
    """The crossing beside x, from inside on its left to outside on its right; None where there is none."""

    def excess(t: float) -> float:
        return smallest_singular_value(A, complex(t, height)) - eps

    width = 1e-12 * scale
    while width <= BAND * scale:
        if excess(x - width) < 0.0 < excess(x + width):
            return float(scipy.optimize.brentq(excess, x - width, x + width, xtol=1e-16 * scale, rtol=1e-15))
        width *= 10.0
    # The line may only touch the set: no sign change, but a minimum at ε.
    return x if abs(excess(x)) <= 1e-8 * eps else None
