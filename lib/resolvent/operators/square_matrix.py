"""Any square matrix: its check, and the triangular form on which the two-dimensional path works."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Complex128, Inexact
from numpy.typing import ArrayLike

from resolvent.errors import ResolventError


class SquareMatrixError(ResolventError):
    """What was given is no finite square matrix, or a parameter beside it is out of range."""


@dataclass(frozen=True)
class TriangularForm:
    """An upper triangular matrix unitarily similar to the given one, so with the same resolvent norms everywhere."""

    matrix: Complex128[np.ndarray, "n n"]
    exact: bool  # the given matrix was triangular: nothing was rounded, its eigenvalues are the diagonal to the bit

    @property
    def eigenvalues(self) -> Complex128[np.ndarray, " n"]:
        return np.diagonal(self.matrix)


def check_square(M: ArrayLike) -> Inexact[np.ndarray, "n n"]:
    """M as a new float64 or complex128 array. Raises SquareMatrixError, naming the first entry that is not finite."""
    given = np.asarray(M)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] == 0:
        raise SquareMatrixError(f"a square matrix (n, n), n ≥ 1, is needed; found shape {given.shape}")
    if given.dtype.kind not in "biufc":
        raise SquareMatrixError(f"a matrix of numbers is needed; found entries of type {given.dtype}")
    A = given.astype(np.complex128 if given.dtype.kind == "c" else np.float64)
    if not np.isfinite(A).all():
        row, column = np.argwhere(~np.isfinite(A))[0]
        raise SquareMatrixError(f"entry ({row}, {column}) is {A[row, column]}; every entry must be finite")
    return A


def check_level(eps: float) -> float:
    """eps as a float. Raises SquareMatrixError where it is not a positive finite number."""
    if not (np.isfinite(eps) and eps > 0.0):
        raise SquareMatrixError(f"ε must be a positive number; found {eps}")
    return float(eps)


def triangular_form(A: Inexact[np.ndarray, "n n"]) -> TriangularForm:
    """The complex Schur form; a triangular A is taken as it is (a lower one with its rows and columns reversed)."""
    if not np.tril(A, -1).any():
        return TriangularForm(A.astype(np.complex128), True)
    if not np.triu(A, 1).any():
        return TriangularForm(A[::-1, ::-1].astype(np.complex128), True)
    return TriangularForm(scipy.linalg.schur(A, output="complex")[0], False)
