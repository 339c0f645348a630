"""Numerical range of any square matrix: its radius and its rightmost extent."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import ArrayLike

from resolvent.operators.square_matrix import check_square

ANGLES = 64
# Eigenvalues of the level pencil this near the unit circle are taken for crossings; a false one costs one more angle.
CIRCLE_BAND = 1e-5
ROUNDS = 30


def numerical_abscissa(M: ArrayLike) -> float:
    """The largest real part of the numerical range, λ_max((M + M*)/2). Raises SquareMatrixError."""
    return _support(check_square(M), 0.0)


def numerical_radius(M: ArrayLike) -> float:
    """max |x*Mx| over unit vectors x, relative error about 1e-12. Raises SquareMatrixError.

    The maximum over θ of h(θ) = λ_max((e^{iθ}M + h.c.)/2). Local search from a grid of angles, then the level-set test
    that no angle lies above: h(θ) = w exactly at unimodular z = e^{iθ} with det(z²M − 2wz + M*) = 0.
    Source: Mengi & Overton, IMA J. Numer. Anal. 25 (2005).
    """
    A = check_square(M)
    step = 2.0 * np.pi / ANGLES
    angles = step * np.arange(ANGLES)
    heights = np.array([_support(A, angle) for angle in angles])
    radius = float(heights.max())
    if radius == 0.0:
        return 0.0
    peaks = np.flatnonzero((heights >= np.roll(heights, 1)) & (heights >= np.roll(heights, -1)))
    for peak in peaks[np.argsort(-heights[peaks])][:4]:
        radius = max(radius, _local_maximum(A, angles[peak] - step, angles[peak] + step))
    for _ in range(ROUNDS):
        crossings = _level_angles(A, radius * (1.0 + 1e-12))
        if not len(crossings):
            break
        middles = 0.5 * (crossings + np.append(crossings[1:], crossings[0] + 2.0 * np.pi))
        highest = max(_support(A, middle) for middle in middles)
        if highest <= radius * (1.0 + 1e-12):
            break
        radius = highest
    return radius


def _support(A: np.ndarray, angle: float) -> float:
    turned = np.exp(1j * angle) * A if angle else A
    last = len(A) - 1
    return float(scipy.linalg.eigvalsh(0.5 * (turned + turned.conj().T), subset_by_index=(last, last))[0])


def _local_maximum(A: np.ndarray, low: float, high: float) -> float:
    found = scipy.optimize.minimize_scalar(
        lambda angle: -_support(A, angle), bounds=(low, high), method="bounded", options={"xatol": 1e-9}
    )
    return -float(found.fun)


def _level_angles(A: np.ndarray, level: float) -> np.ndarray:
    """Ascending angles in [−π, π] at which h crosses the level."""
    n = len(A)
    eye, zero = np.eye(n), np.zeros((n, n))
    left = np.block([[zero, eye], [-A.conj().T, 2.0 * level * eye]])
    right = np.block([[eye, zero], [zero, A]])
    z = scipy.linalg.eigvals(left, right)
    z = z[np.isfinite(z)]
    return np.sort(np.angle(z[np.abs(np.abs(z) - 1.0) <= CIRCLE_BAND]))
