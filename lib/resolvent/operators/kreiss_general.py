"""The Kreiss constant of any square matrix, searched over the plane outside the unit disc."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import ArrayLike

from resolvent.operators.numerical_range import numerical_radius
from resolvent.operators.smallest_singular_values import smallest_singular_values
from resolvent.operators.square_matrix import TriangularForm, check_square, triangular_form

# The grid: rays at these many even angles and through the outer eigenvalues, these many distances |z| − 1 on each.
ANGLES = 64
DISTANCES = 48
# Nearer to the circle σ_min(zI − M) ≈ |z| − 1 would drown in rounding. Suprema reached only there are taken as limits.
NEAREST = 1e-7
STARTS = 8
# Rays are searched along their whole length for values above the best one by this share.
EXCESS = 1e-7
ROUNDS = 6
# Rounding of the numerical radius; K − 1 is of second order in its excess over 1.
RADIUS_ROUNDING = 1e-13
# Rounding moves the mean of a cluster of eigenvalues by up to this many n·ε‖M‖ times the norm of its projector.
ROUNDINGS = 10.0
# The modulus of a complex number on the unit circle is 1 to this.
UNIT_MODULUS = 4.0 * float(np.finfo(float).eps)
# A defective eigenvalue comes out as a cluster whose Schur block keeps a coupling above this share of the norm.
COUPLING = 1e-9
# No eigenvalue is believed to be farther off the circle than this by rounding alone.
MOST_ROUNDING = 1e-3


def kreiss_constant_general(M: ArrayLike) -> float:
    """sup over |z| > 1 of (|z| − 1)‖(zI − M)^{-1}‖₂: at least 1, relative error about 1e-8.

    M any finite square matrix. Exactly 1.0 where the numerical radius is at most 1 (so for a normal M with ρ ≤ 1); inf
    where ρ > 1 or an eigenvalue of modulus 1 is defective. An eigenvalue counts as of modulus 1 within its sensitivity
    to rounding, that is 1e-15 for a triangular M, whose eigenvalues are exact. A polar grid, local ascent from its best
    points, and a test of whole rays that nothing lies above. What could be missed: a peak between all rays, and what
    happens closer to the circle than 1e-7 because of an eigenvalue just inside.
    Raises SquareMatrixError. Source: Trefethen & Embree, Spectra and Pseudospectra, §18; rays after Mitchell,
    SIAM J. Matrix Anal. Appl. 41 (2020).
    """
    A = check_square(M)
    form = triangular_form(A)
    moduli = np.abs(form.eigenvalues)
    if moduli.max() > 1.0 + MOST_ROUNDING:
        return np.inf
    limits = [_limit_towards(form, eigenvalue) for eigenvalue in form.eigenvalues[moduli > 1.0 - MOST_ROUNDING]]
    if np.inf in limits:
        return np.inf
    reach = numerical_radius(A)
    if reach <= 1.0 + RADIUS_ROUNDING:
        return 1.0
    return max(1.0, *limits, _supremum_outside(A, form, reach))


def _limit_towards(form: TriangularForm, eigenvalue: complex) -> float:
    """The limit of (|z| − 1)‖(zI − M)^{-1}‖ on the way from outside to an eigenvalue.

    That is 0 inside the disc, the norm of the spectral projector on the circle, inf outside or where it is defective.
    Eigenvalues within each other's rounding are one. A lone member of a defective one that rounding broke up has a huge
    projector; so the cluster grows until its own projector explains it.
    """
    size = np.linalg.norm(form.matrix)
    unit = 0.0 if form.exact else ROUNDINGS * len(form.matrix) * np.finfo(float).eps * size
    rounding, count = max(unit, UNIT_MODULUS), 0
    while True:
        T, members = _cluster_first(form.matrix, eigenvalue, rounding)
        if members == count:
            break
        count = members
        projector = _projector_norm(T, count, eigenvalue)
        rounding = min(MOST_ROUNDING, max(rounding, unit * projector))
    distance = abs(np.diagonal(T)[:count].mean()) - 1.0
    if abs(distance) > rounding:
        return np.inf if distance > 0.0 else 0.0
    defective = np.linalg.norm(np.triu(T[:count, :count], 1)) > COUPLING * size
    return np.inf if defective else projector


def _cluster_first(T: np.ndarray, eigenvalue: complex, reach: float) -> tuple[np.ndarray, int]:
    """A Schur form with the eigenvalues within reach of the given one leading, and their number."""
    ordered, _, members = scipy.linalg.schur(T, output="complex", sort=lambda value: abs(value - eigenvalue) <= reach)
    return ordered, int(members)


def _projector_norm(T: np.ndarray, count: int, eigenvalue: complex) -> float:
    """Norm of the spectral projector of the leading `count` diagonal entries of T, all near one eigenvalue."""
    rest = T[count:, count:]
    if not len(rest):
        return 1.0
    mixing = scipy.linalg.solve_triangular(eigenvalue * np.eye(len(rest)) - rest, T[:count, count:].T, trans="T")
    return float(np.hypot(1.0, np.linalg.norm(mixing, 2)))


def _supremum_outside(A: np.ndarray, form: TriangularForm, reach: float) -> float:
    """The supremum over |z| ≥ 1 + NEAREST of a matrix with numerical radius `reach` > 1."""
    moduli = np.abs(form.eigenvalues)
    gap = 1.0 - float(moduli.max())
    nearest = max(NEAREST, 1e-3 * gap)
    # (|z| − 1)‖…‖ ≤ (|z| − 1)/(|z| − reach): far out nothing exceeds 1 by more than a share of reach − 1
    distances = np.geomspace(nearest, 1e4 * reach, DISTANCES)
    outer = form.eigenvalues[np.argsort(-moduli)][:ANGLES]
    angles = np.unique(np.r_[2.0 * np.pi * np.arange(ANGLES) / ANGLES - np.pi, np.angle(outer[np.abs(outer) > 0.0])])
    points = (1.0 + distances) * np.exp(1j * angles)[:, None]
    heights = distances / smallest_singular_values(form.matrix, points.ravel()).reshape(points.shape)
    best = 1.0
    ridge = heights.max(axis=1)
    peaks = np.flatnonzero((ridge >= np.roll(ridge, 1)) & (ridge >= np.roll(ridge, -1)))
    for ray in peaks[np.argsort(-ridge[peaks])][:STARTS]:
        best = max(best, _local_maximum(A, distances[np.argmax(heights[ray])], angles[ray], nearest))
    for _ in range(ROUNDS):
        higher = [(x, angle) for angle in angles for x in _distances_above(A, angle, best * (1.0 + EXCESS), nearest)]
        if not higher:
            break
        best = max(_local_maximum(A, x, angle, nearest) for x, angle in higher[:STARTS])
    return best


def _height_and_slope(A: np.ndarray, x: float, angle: float) -> tuple[float, float, float]:
    """log of (|z| − 1)‖(zI − A)^{-1}‖ at z = (1 + x)e^{i·angle}, and its derivatives by log x and by the angle."""
    z = (1.0 + x) * np.exp(1j * angle)
    left, sigma, right = np.linalg.svd(z * np.eye(len(A)) - A)
    along = np.vdot(left[:, -1], right[-1].conj()) / sigma[-1]  # u*v/σ: d log σ = Re(u*v dz)/σ
    by_distance = 1.0 - x * (along * np.exp(1j * angle)).real
    return float(np.log(x / sigma[-1])), float(by_distance), float(-(along * 1j * z).real)


def _local_maximum(A: np.ndarray, x: float, angle: float, nearest: float) -> float:
    """The height reached by ascent from a point; local maxima of a maximum of smooth functions are smooth."""

    def descent(place: np.ndarray) -> tuple[float, np.ndarray]:
        height, by_distance, by_angle = _height_and_slope(A, float(np.exp(place[0])), float(place[1]))
        return -height, np.array([-by_distance, -by_angle])

    found = scipy.optimize.minimize(
        descent,
        [np.log(x), angle],
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(nearest), np.log(1e12)), (None, None)],
        options={"gtol": 1e-11, "ftol": 1e-16, "maxiter": 200},
    )
    return float(np.exp(-found.fun))


def _distances_above(A: np.ndarray, angle: float, level: float, nearest: float) -> list[float]:
    """Distances x, one in each stretch of a ray where the height exceeds a level > 1.

    The height is the level where r, u, v solve (e^{-iθ}A − rI)v = −((r−1)/level)u and its adjoint: linear in r.
    """
    n = len(A)
    eye = np.eye(n)
    turned = np.exp(-1j * angle) * A
    left = np.block([[eye / level, turned], [turned.conj().T, eye / level]])
    inverse = np.block([[eye / level, -eye], [-eye, eye / level]]) / (1.0 / level**2 - 1.0)
    r = scipy.linalg.eigvals(inverse @ left)
    x = np.sort(r.real[np.abs(r.imag) <= 1e-6 * np.abs(r)]) - 1.0
    x = np.r_[nearest, x[x > nearest]]
    middles = np.sqrt(x[1:] * x[:-1])
    return [float(middle) for middle in middles if _height_and_slope(A, middle, angle)[0] > np.log(level)]
