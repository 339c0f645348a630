"""How far an ε-pseudospectrum of any square matrix reaches: from the origin, and to the right."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from resolvent.operators._level_lines import inner_angles, inner_heights, rightmost_crossing
from resolvent.operators.square_matrix import SquareMatrixError, check_level, check_square, triangular_form

# The criss-cross converges quadratically; more rounds than this mean that rounding makes it wander.
ROUNDS = 40
IMPROVEMENT = 1e-13


def pseudospectral_abscissa(M: ArrayLike, eps: float) -> float:
    """max Re z over σ_min(zI − M) ≤ eps, relative error about 1e-10 for eps well above 1e-16‖M‖.

    M any finite square matrix. Horizontal lines go to the set's right edge, vertical ones test that nothing is beyond.
    Raises SquareMatrixError. Source: Burke, Lewis & Overton, IMA J. Numer. Anal. 23 (2003).
    """
    A, eps = check_square(M), check_level(eps)
    eigenvalues = triangular_form(A).eigenvalues
    heights = [float(eigenvalues[np.argmax(eigenvalues.real)].imag)]
    extent = -np.inf
    for _ in range(ROUNDS):
        farthest = max(rightmost_crossing(A, height, eps) for height in heights)
        if not farthest > extent:
            break
        gain, extent = farthest - extent, farthest
        if gain <= IMPROVEMENT * abs(extent):
            break
        heights = inner_heights(A, extent, eps)
        if not heights:
            break
    return _found(extent, eps)


def pseudospectral_radius_general(M: ArrayLike, eps: float) -> float:
    """max |z| over σ_min(zI − M) ≤ eps, relative error about 1e-10 for eps well above 1e-16‖M‖.

    M any finite square matrix. Rays go to the set's outer edge, circles test that nothing is beyond.
    Raises SquareMatrixError. Source: Mengi & Overton, IMA J. Numer. Anal. 25 (2005).
    """
    A, eps = check_square(M), check_level(eps)
    eigenvalues = triangular_form(A).eigenvalues
    angles = [float(np.angle(eigenvalues[np.argmax(np.abs(eigenvalues))]))]
    extent = -np.inf
    for _ in range(ROUNDS):
        farthest = max(rightmost_crossing(np.exp(-1j * angle) * A, 0.0, eps) for angle in angles)
        if not farthest > extent:
            break
        gain, extent = farthest - extent, farthest
        if gain <= IMPROVEMENT * abs(extent):
            break
        angles = inner_angles(A, extent, eps)
        if not angles:
            break
    return _found(extent, eps)


def _found(extent: float, eps: float) -> float:
    if not np.isfinite(extent):
        raise SquareMatrixError(f"ε = {eps} is below the rounding level of this matrix: its level line was not found")
    return float(extent)
