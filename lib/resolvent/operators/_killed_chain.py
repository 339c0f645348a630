"""The killed chain of a causal stochastic matrix and the few products its powers need (private, numba).

B = A[1:, 1:] is the chain killed when it jumps to BOS; N = [[0, 0], [B·1, B]] has the 2-norms of A_dev, also for all
powers. Every array of a chain has m = n − 1 states; matrices are C-contiguous, lower triangular, with zeros above the
diagonal.
"""

import math

import numpy as np
from numba import njit
from numpy import ndarray

# A probability divided by a leak below this could overflow.
SAFE_LEAK = 1e-290
# The Rayleigh quotient of [x, M][x, M]ᵀ is at most this far (relatively) below its top eigenvalue when iteration stops.
NORM_ACCURACY = 2e-15
# The same for a singular vector that is to be right to 1e-14.
VECTOR_ACCURACY = 1e-28
# The proof in `extended_norm` gives 4^-j after j iterations; half of these reach 2e-16, all of them VECTOR_ACCURACY.
NORM_ITERATIONS = 52


@njit(cache=True, nogil=True)
def killed_moves(a: ndarray) -> ndarray:
    """B (m, m) of one causal stochastic matrix (n, n)."""
    m = a.shape[0] - 1
    moves = np.zeros((m, m))
    for i in range(m):
        for j in range(i + 1):
            moves[i, j] = a[i + 1, j + 1]
    return moves


# Sums may be reordered, so that they run in SIMD lanes; nothing is assumed about infinities, NaN or subnormals.
REORDER = {"reassoc", "contract"}


@njit(cache=True, nogil=True, fastmath=REORDER)
def total(x: ndarray, length: int) -> float:
    """Σ x_i over the first `length` entries."""
    out = 0.0
    for i in range(length):
        out += x[i]
    return out


@njit(cache=True, nogil=True, fastmath=REORDER)
def dot(x: ndarray, y: ndarray, length: int) -> float:
    """Σ x_i y_i over the first `length` entries."""
    out = 0.0
    for i in range(length):
        out += x[i] * y[i]
    return out


@njit(cache=True, nogil=True, fastmath=REORDER)
def times(lower: ndarray, x: ndarray, out: ndarray) -> None:
    """out = L x, four rows at a time (what lies above the diagonal is zero)."""
    m = x.size
    whole = m - m % 4
    for i in range(0, whole, 4):
        row0, row1, row2, row3 = lower[i], lower[i + 1], lower[i + 2], lower[i + 3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(i + 4):
            s0 += row0[j] * x[j]
            s1 += row1[j] * x[j]
            s2 += row2[j] * x[j]
            s3 += row3[j] * x[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
    for i in range(whole, m):
        out[i] = dot(lower[i], x, i + 1)


@njit(cache=True, nogil=True)
def times_transposed(lower: ndarray, x: ndarray, out: ndarray) -> None:
    """out = Lᵀ x, four rows at a time (what lies above the diagonal is zero)."""
    m = x.size
    out[:] = 0.0
    whole = m - m % 4
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        if x0 == 0.0 and x1 == 0.0 and x2 == 0.0 and x3 == 0.0:
            continue
        row0, row1, row2, row3 = lower[i], lower[i + 1], lower[i + 2], lower[i + 3]
        for j in range(i + 4):
            out[j] += (x0 * row0[j] + x1 * row1[j]) + (x2 * row2[j] + x3 * row3[j])
    for i in range(whole, m):
        row = lower[i]
        for j in range(i + 1):
            out[j] += x[i] * row[j]


@njit(cache=True, nogil=True)
def product(left: ndarray, right: ndarray, out: ndarray) -> None:
    """out = L₁ L₂, two rows of L₁ and four of L₂ at a time (what lies above the diagonal is zero)."""
    m = left.shape[0]
    out[:, :] = 0.0
    whole = m - m % 2
    for i in range(0, whole, 2):
        left_a, left_b = left[i], left[i + 1]
        out_a, out_b = out[i], out[i + 1]
        k = 0
        while k + 4 <= i + 2:
            a0, a1, a2, a3 = left_a[k], left_a[k + 1], left_a[k + 2], left_a[k + 3]
            b0, b1, b2, b3 = left_b[k], left_b[k + 1], left_b[k + 2], left_b[k + 3]
            row0, row1, row2, row3 = right[k], right[k + 1], right[k + 2], right[k + 3]
            for j in range(k + 4):
                r0, r1, r2, r3 = row0[j], row1[j], row2[j], row3[j]
                out_a[j] += (a0 * r0 + a1 * r1) + (a2 * r2 + a3 * r3)
                out_b[j] += (b0 * r0 + b1 * r1) + (b2 * r2 + b3 * r3)
            k += 4
        while k < i + 2:
            a0, b0 = left_a[k], left_b[k]
            row0 = right[k]
            for j in range(k + 1):
                out_a[j] += a0 * row0[j]
                out_b[j] += b0 * row0[j]
            k += 1
    if whole < m:
        last = out[whole]
        for k in range(m):
            a0 = left[whole, k]
            row0 = right[k]
            for j in range(k + 1):
                last[j] += a0 * row0[j]


@njit(cache=True, nogil=True)
def killed_leaks(a: ndarray) -> ndarray:
    """c (m,): the probability of leaving each state of the chain, a sum of non-negative terms."""
    m = a.shape[0] - 1
    leaks = np.empty(m)
    for i in range(m):
        leaks[i] = total(a[i + 1], i + 1)
    return leaks


@njit(cache=True, nogil=True)
def hit(moves: ndarray, leaks: ndarray, x: ndarray) -> None:
    """x ← H x in place. H = (I − E)^{-1} are the hitting probabilities, E_ij = B_ij / c_i (0 if c_i = 0) for j < i."""
    for i in range(x.size):
        if leaks[i] > 0.0:
            x[i] += dot(moves[i], x, i) / leaks[i]


@njit(cache=True, nogil=True)
def hit_transposed(moves: ndarray, leaks: ndarray, x: ndarray) -> None:
    """x ← Hᵀ x in place."""
    for i in range(x.size - 1, 0, -1):
        leak = leaks[i]
        row = moves[i]
        if leak > SAFE_LEAK:
            factor = x[i] / leak
            for j in range(i):
                x[j] += factor * row[j]
        elif leak > 0.0:
            for j in range(i):
                x[j] += x[i] * (row[j] / leak)


@njit(cache=True, nogil=True)
def row_sums(lower: ndarray, out: ndarray) -> None:
    """out = L·1."""
    for i in range(out.size):
        out[i] = total(lower[i], i + 1)


@njit(cache=True, nogil=True)
def length(x: ndarray) -> float:
    """‖x‖₂, also where the squares under- or overflow."""
    largest = 0.0
    for i in range(x.size):
        largest = max(largest, abs(x[i]))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    if 1e-100 < largest < 1e100:
        return np.sqrt(dot(x, x, x.size))
    squares = 0.0
    for i in range(x.size):
        squares += (x[i] / largest) ** 2
    return largest * np.sqrt(squares)


@njit(cache=True, nogil=True)
def _power_step(
    factors: list[ndarray], x: ndarray, size: float, u: ndarray, back: ndarray, spare: ndarray, image: ndarray
) -> tuple[float, float]:
    """Rayleigh quotient uᵀGu of the unit vector u and ‖Gu − quotient·u‖²; then u ← Gu / ‖Gu‖.

    G = (xxᵀ + MMᵀ) / size² with size = ‖x‖, so that neither tiny nor huge entries leave the float range.
    """
    m = x.size
    back[:] = u
    for k in range(len(factors)):
        times_transposed(factors[k], back, spare)
        back, spare = spare, back
    along = dot(x, u, m) / size
    for i in range(m):
        back[i] /= size
    quotient = along * along + dot(back, back, m)
    for k in range(len(factors) - 1, -1, -1):
        times(factors[k], back, spare)
        back, spare = spare, back
    residual = 0.0
    for i in range(m):
        image[i] = (back[i] + along * x[i]) / size
        residual += (image[i] - quotient * u[i]) ** 2
    image_size = np.sqrt(dot(image, image, m))
    for i in range(m):
        u[i] = image[i] / image_size
    return quotient, residual


@njit(cache=True, nogil=True)
def extended_norm(factors: list[ndarray], x: ndarray, u: ndarray, accuracy: float = NORM_ACCURACY) -> float:
    """‖[x, M]‖₂ for M = factors[0] · factors[1] ⋯ ≥ 0 with x ≥ M·1; u is overwritten by the top left unit vector.

    Power iteration on G = xxᵀ + MMᵀ cannot stall. Let σ = ‖M‖ and u its top left vector: x ≥ M·1 ≥ M v = σ u, so λ₁(G)
    ≥ 2σ² ≥ 2 λ₂(G); and ‖x‖² ≥ λ₁/2, so the angle between x and the top vector is at most 45°. From x the Rayleigh
    quotient is within 4^-j after j steps. The result is a lower bound, within `accuracy` (u: within its square root).
    """
    m = x.size
    size = length(x)
    if size == 0.0:
        u[:] = 0.0
        return 0.0
    for i in range(m):
        u[i] = x[i] / size
    back, spare, image = np.empty(m), np.empty(m), np.empty(m)
    quotient = 0.0
    for _ in range(NORM_ITERATIONS):
        quotient, residual = _power_step(factors, x, size, u, back, spare, image)
        # λ₁ − quotient ≤ residual / (quotient − λ₂) and λ₂ ≤ λ₁ / 2; the next vector is better still
        if residual <= 0.25 * accuracy * quotient * quotient:
            break
    return size * np.sqrt(quotient)


@njit(cache=True, nogil=True)
def norm_reaches(factors: list[ndarray], x: ndarray, u: ndarray, wanted: float) -> bool:
    """Whether ‖[x, M]‖₂ ≥ wanted > 0, for x and M as in `extended_norm`, in as few steps as decide it."""
    m = x.size
    size = length(x)
    if size == 0.0:
        return False
    for i in range(m):
        u[i] = x[i] / size
    back, spare, image = np.empty(m), np.empty(m), np.empty(m)
    level = (wanted / size) ** 2
    ahead = 1.0
    for step in range(NORM_ITERATIONS):
        quotient, residual = _power_step(factors, x, size, u, back, spare, image)
        if quotient >= level:
            return True
        # from the second quotient on it is at least ¾ λ₁, so λ₂ ≤ ⅔ of it
        if step > 0:
            ahead *= 0.25
            if quotient < level * (1.0 - ahead) or quotient + 3.0 * residual / quotient < level:
                return False
    return False


@njit(cache=True, nogil=True)
def _scale_row(row: ndarray, length: int) -> int:
    """Divide by the power of two that brings the largest entry into [½, 1); its exponent (0 for a zero row)."""
    largest = 0.0
    for j in range(length):
        largest = max(largest, row[j])
    if largest == 0.0:
        return 0
    exponent = math.frexp(largest)[1]
    for j in range(length):
        row[j] = math.ldexp(row[j], -exponent)
    return exponent


@njit(cache=True, nogil=True)
def _scaled_product(
    left: ndarray, left_scale: ndarray, right: ndarray, right_scale: ndarray
) -> tuple[ndarray, ndarray]:
    """Product of two matrices whose row i stands for 2^scale_i times what is stored; the same form."""
    m = left_scale.size
    weights = np.zeros((m, m))
    out = np.empty((m, m))
    scale = np.zeros(m, dtype=np.int64)
    for i in range(m):
        top = np.int64(-(2**62))
        for k in range(i + 1):
            if left[i, k] > 0.0:
                top = max(top, math.frexp(left[i, k])[1] + right_scale[k])
        for k in range(i + 1):
            if left[i, k] > 0.0:
                weights[i, k] = math.ldexp(left[i, k], max(right_scale[k] - top, -4000))
        if top > -(2**62):
            scale[i] = left_scale[i] + top
    product(weights, right, out)
    for i in range(m):
        scale[i] += _scale_row(out[i], i + 1)
    return out, scale


@njit(cache=True, nogil=True)
def power(moves: ndarray, k: int) -> tuple[ndarray, int]:
    """B^k, k ≥ 1, as a matrix whose largest entry is in [½, 1) and the exponent of two it is to be multiplied by.

    Every row carries its own exponent on the way, so that rows that die early do not drag the others to zero.
    """
    m = moves.shape[0]
    square = moves.copy()
    square_scale = np.zeros(m, dtype=np.int64)
    for i in range(m):
        square_scale[i] = _scale_row(square[i], i + 1)
    result, scale = square, square_scale
    started = False
    left = k
    while True:
        if left % 2 == 1:
            if started:
                result, scale = _scaled_product(result, scale, square, square_scale)
            else:
                result, scale = square.copy(), square_scale.copy()
                started = True
        left //= 2
        if left == 0:
            break
        square, square_scale = _scaled_product(square, square_scale, square, square_scale)
    top = np.int64(-(2**62))
    for i in range(m):
        for j in range(i + 1):
            if result[i, j] > 0.0:
                top = max(top, scale[i])
                break
    if top == -(2**62):
        return result, 0
    for i in range(m):
        for j in range(i + 1):
            result[i, j] = math.ldexp(result[i, j], max(scale[i] - top, -4000))
    return result, int(top)


@njit(cache=True, nogil=True)
def limit_power(moves: ndarray, leaks: ndarray) -> ndarray:
    """lim B^k: the columns of H that belong to absorbing states, 0 elsewhere."""
    m = leaks.size
    limit = np.zeros((m, m))
    column = np.empty(m)
    for b in range(m):
        if leaks[b] == 0.0:
            column[:] = 0.0
            column[b] = 1.0
            hit(moves, leaks, column)
            limit[:, b] = column
    return limit
