"""Smallest singular values of zI − M over the plane: the picture behind ε-pseudospectra."""

from __future__ import annotations

import numpy as np
from jaxtyping import Complex128, Float64
from numpy.typing import ArrayLike

from resolvent.operators.square_matrix import SquareMatrixError, check_square, triangular_form

# Up to this n a batch of dense decompositions is faster than triangular solves in Python loops.
DENSE_UP_TO = 32
# Points solved together: their vectors should stay in the cache.
POINTS_AT_ONCE = 256
# A point is looked at every few Lanczos steps and settled once its squared value changes by less than this share
# between two looks; after STEPS it goes to a dense decomposition.
LOOK_EVERY = 4
CHANGE = 1e-10
STEPS = 48


def pseudospectrum(M: ArrayLike, x: ArrayLike, y: ArrayLike) -> Float64[np.ndarray, "y x"]:
    """σ_min(zI − M) at z = x_j + i y_k, as an array [k, j]; its ε-level line bounds the ε-pseudospectrum.

    M any finite square matrix, real or complex. Relative error about 1e-9, down to the rounding level 1e-16‖M‖.
    One Schur form, then inverse Lanczos iteration at all points together. Raises SquareMatrixError.
    Source: Trefethen & Embree, Spectra and Pseudospectra, §39.
    """
    form = triangular_form(check_square(M))
    columns, rows = np.atleast_1d(np.asarray(x, dtype=float)), np.atleast_1d(np.asarray(y, dtype=float))
    if columns.ndim != 1 or rows.ndim != 1 or not (np.isfinite(columns).all() and np.isfinite(rows).all()):
        raise SquareMatrixError("x and y must be lists of finite numbers")
    points = (columns[None, :] + 1j * rows[:, None]).ravel()
    return smallest_singular_values(form.matrix, points).reshape(len(rows), len(columns))


def smallest_singular_values(
    T: Complex128[np.ndarray, "n n"], points: Complex128[np.ndarray, " points"]
) -> Float64[np.ndarray, " points"]:
    """σ_min(zI − T) of an upper triangular T at each point; accuracy as `pseudospectrum`."""
    values = np.empty(len(points))
    for first in range(0, len(points), POINTS_AT_ONCE):
        part = slice(first, first + POINTS_AT_ONCE)
        values[part] = _dense(T, points[part]) if len(T) <= DENSE_UP_TO else _inverse_lanczos(T, points[part])
    return values


def _dense(T: np.ndarray, points: np.ndarray) -> np.ndarray:
    shifted = points[:, None, None] * np.eye(len(T)) - T
    return np.linalg.svd(shifted, compute_uv=False)[:, -1]


def _inverse_lanczos(T: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Lanczos on ((zI − T)*(zI − T))^{-1}, all points abreast; the smallest σ is the root of its largest eigenvalue.

    Lost orthogonality only repeats eigenvalues that have converged, so nothing is orthogonalised again.
    """
    n = len(T)
    values = np.zeros(len(points))
    still = np.flatnonzero((points[:, None] != np.diagonal(T)).all(axis=1))  # at an eigenvalue the value is 0
    start = np.random.default_rng(0).standard_normal((n, 2)) @ [1.0, 1j]
    vectors = np.repeat((start / np.linalg.norm(start))[:, None], len(still), axis=1)
    before = np.zeros_like(vectors)
    estimate = np.zeros(len(still))
    tridiagonal = np.zeros((len(still), STEPS, STEPS))
    dense: list[np.ndarray] = []
    for step in range(STEPS):
        with np.errstate(all="ignore"):
            image = _solve(T, points[still], _solve_adjoint(T, points[still], vectors))
            along = np.einsum("ij,ij->j", vectors.conj(), image).real
            image -= along * vectors
            if step:
                image -= tridiagonal[:, step, step - 1] * before
            across = np.linalg.norm(image, axis=0)
            tridiagonal[:, step, step] = along
            if step + 1 < STEPS:
                tridiagonal[:, step + 1, step] = across
            before, vectors = vectors, image / across
        keep = np.isfinite(vectors).all(axis=0)
        dense.append(still[~keep])
        if step % LOOK_EVERY == LOOK_EVERY - 1:
            latest = np.zeros(len(still))
            latest[keep] = np.linalg.eigvalsh(tridiagonal[keep, : step + 1, : step + 1])[:, -1]
            settled = keep & (np.abs(latest - estimate) <= CHANGE * latest)
            values[still[settled]] = 1.0 / np.sqrt(latest[settled])
            keep &= ~settled
            estimate = latest
        still, vectors, before = still[keep], vectors[:, keep], before[:, keep]
        estimate, tridiagonal = estimate[keep], tridiagonal[keep]
        if not len(still):
            break
    for point in np.concatenate([*dense, still]):
        values[point] = _dense(T, points[point : point + 1])[0]
    return values


def _solve(T: np.ndarray, points: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(zI − T)^{-1} b for each point's column b."""
    solution = right.copy()
    for i in range(len(T) - 1, -1, -1):
        solution[i] += T[i, i + 1 :] @ solution[i + 1 :]
        solution[i] /= points - T[i, i]
    return solution


def _solve_adjoint(T: np.ndarray, points: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(zI − T)^{-*} b for each point's column b."""
    adjoint = T.conj().T
    solution = right.copy()
    for i in range(len(T)):
        solution[i] += adjoint[i, :i] @ solution[:i]
        solution[i] /= np.conj(points) - adjoint[i, i]
    return solution
