"""Compiled kernels on the killed chain of one causal stochastic matrix: leaks, and solves with rI − N.

Conventions: a matrix is C-contiguous float64, n × n. `chain` is N = D A_dev D = [[0, 0], [B·1, B]] ≥ 0 with
B = A[1:, 1:]; only its strict lower triangle is ever read by a solve, because the diagonal of rI − N is formed as
(r − 1) + leak (r − a_ii would lose the leak of a near-absorbing row). `inverse` holds the reciprocals of that diagonal.
All sums are of non-negative terms, so every entry of a solution is right to about n ulps.
"""

import math

import numba
from numpy import ndarray

# Sums may be reordered (vectorised); nothing is assumed about infinities, NaN or denormals.
REORDER = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, nogil=True, fastmath=REORDER)
def killed_chain(A: ndarray, chain: ndarray, leak: ndarray) -> None:
    """Write the lower triangle of N into `chain` and the leaks c_i = Σ_{j<i} a_ij (c_0 = 1) into `leak`."""
    n = A.shape[0]
    chain[0, 0] = 0.0
    leak[0] = 1.0
    for i in range(1, n):
        stays = 0.0
        for j in range(1, i):
            a = A[i, j]
            chain[i, j] = a
            stays += a
        leak[i] = A[i, 0] + stays
        chain[i, 0] = stays + A[i, i]
        chain[i, i] = A[i, i]


@numba.njit(cache=True, nogil=True, fastmath=REORDER)
def shifted_diagonal(leak: ndarray, x: float, inverse: ndarray) -> None:
    """Reciprocals of the diagonal of rI − N, where x = r − 1."""
    for i in range(leak.size):
        inverse[i] = 1.0 / (x + leak[i])


@numba.njit(cache=True, nogil=True, fastmath=REORDER)
def solve(chain: ndarray, inverse: ndarray, b: ndarray, y: ndarray) -> None:
    """y = (rI − N)^{-1} b, forwards, four rows at a time so that the reductions overlap. b and y may be one array."""
    n = inverse.size
    blocked = n - n % 4
    for i in range(0, blocked, 4):
        row0, row1, row2, row3 = chain[i], chain[i + 1], chain[i + 2], chain[i + 3]
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        for j in range(i):
            t = y[j]
            s0 += row0[j] * t
            s1 += row1[j] * t
            s2 += row2[j] * t
            s3 += row3[j] * t
        y0 = (b[i] + s0) * inverse[i]
        y1 = (b[i + 1] + (s1 + row1[i] * y0)) * inverse[i + 1]
        y2 = (b[i + 2] + (s2 + row2[i] * y0 + row2[i + 1] * y1)) * inverse[i + 2]
        y3 = (b[i + 3] + (s3 + row3[i] * y0 + row3[i + 1] * y1 + row3[i + 2] * y2)) * inverse[i + 3]
        y[i] = y0
        y[i + 1] = y1
        y[i + 2] = y2
        y[i + 3] = y3
    for i in range(blocked, n):
        s = b[i]
        for j in range(i):
            s += chain[i, j] * y[j]
        y[i] = s * inverse[i]


@numba.njit(cache=True, nogil=True, fastmath=REORDER)
def solve_transposed(chain: ndarray, inverse: ndarray, y: ndarray) -> None:
    """y ← (rI − N)^{-T} y, in place, backwards; rows of `chain` are added, so memory is read contiguously."""
    n = inverse.size
    blocked = n - n % 4
    for i in range(n - 1, blocked - 1, -1):
        z = y[i] * inverse[i]
        y[i] = z
        for j in range(i):
            y[j] += chain[i, j] * z
    for i in range(blocked - 4, -1, -4):
        row0, row1, row2, row3 = chain[i], chain[i + 1], chain[i + 2], chain[i + 3]
        z3 = y[i + 3] * inverse[i + 3]
        z2 = (y[i + 2] + row3[i + 2] * z3) * inverse[i + 2]
        z1 = (y[i + 1] + (row3[i + 1] * z3 + row2[i + 1] * z2)) * inverse[i + 1]
        z0 = (y[i] + (row3[i] * z3 + row2[i] * z2 + row1[i] * z1)) * inverse[i]
        y[i] = z0
        y[i + 1] = z1
        y[i + 2] = z2
        y[i + 3] = z3
        for j in range(i):
            y[j] += row0[j] * z0 + row1[j] * z1 + row2[j] * z2 + row3[j] * z3


@numba.njit(cache=True, nogil=True)
def first_offence(A: ndarray, tolerance: float) -> tuple[int, int, int]:
    """(row, column, kind) of the first entry in row order that is not causal stochastic; kind 0 if there is none.

    Kinds: 1 NaN or infinite, 2 negative, 3 above the diagonal, 4 a row sum off by more than `tolerance` (column −1).
    """
    n = A.shape[0]
    for i in range(n):
        total = 0.0
        for j in range(i + 1):
            a = A[i, j]
            if not math.isfinite(a):
                return i, j, 1
            if a < 0.0:
                return i, j, 2
            total += a
        for j in range(i + 1, n):
            if A[i, j] != 0.0:
                return i, j, 3 if math.isfinite(A[i, j]) else 1
        if not abs(total - 1.0) <= tolerance or total == 0.0:
            return i, -1, 4
    return -1, -1, 0


@numba.njit(cache=True, nogil=True, fastmath=REORDER)
def renormalised(A: ndarray, tolerance: float) -> bool:
    """Divide each row of the lower triangle by its sum, in place; False, with rows left as they were from the first
    fault on, if A is not causal stochastic. Branch-free inside a row; `first_offence` says what the fault is.
    """
    n = A.shape[0]
    for i in range(n):
        row = A[i]
        total = 0.0
        faults = 0
        for j in range(i + 1):
            total += row[j]
            faults += row[j] < 0.0
        for j in range(i + 1, n):
            faults += row[j] != 0.0
        # A NaN or an infinity shows in the sum.
        if faults > 0 or not abs(total - 1.0) <= tolerance or total == 0.0:
            return False
        for j in range(i + 1):
            row[j] = row[j] / total + 0.0  # + 0.0 turns −0.0 into 0.0
        for j in range(i + 1, n):
            row[j] = 0.0
    return True
