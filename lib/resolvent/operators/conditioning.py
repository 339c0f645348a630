"""How far A_dev is from normal: Henrici's departure and the condition number of its eigenvectors.

A_dev is triangular, so both eigenvector matrices come from recurrences with unit diagonal: V of the right ones column
by column, W = V^{-1} of the left ones row by row. Each column of V and row of W carries an exponent of two, so κ is
right far beyond 1e308, where an SVD of V stalls at 1e18.
"""

import math

import numpy as np
from jaxtyping import Float
from numba import njit
from numpy import ndarray

from resolvent.operators import _killed_chain as chain
from resolvent.operators.causal import check_causal_stochastic

# A numerator of the recurrence at a repeated eigenvalue is zero when it is within this many ulps, per term, of the sum
# of its terms' sizes.
ZERO_ULPS = 8.0 * 2.0**-52
# Entries beyond this are scaled down, the exponent carried.
LARGE_EXPONENT = 400
LARGE = 2.0**LARGE_EXPONENT
# Estimated relative error of a largest singular value when power iteration stops.
ACCURACY = 1e-10
ITERATIONS = 2000


@njit(cache=True, nogil=True)
def _strict_chain(a: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """N without its diagonal, the eigenvalues (the diagonal; first 0) and the leaks (first 1)."""
    n = a.shape[0]
    strict = np.zeros((n, n))
    values = np.zeros(n)
    leaks = np.ones(n)
    for i in range(1, n):
        rest = 0.0
        for j in range(1, i):
            strict[i, j] = a[i, j]
            rest += a[i, j]
        leaks[i] = rest + a[i, 0]
        strict[i, 0] = rest + a[i, i]
        values[i] = a[i, i]
    return strict, values, leaks


@njit(cache=True, nogil=True)
def _difference(values: ndarray, leaks: ndarray, i: int, j: int) -> float:
    """λ_i − λ_j, from the leaks where both eigenvalues are near 1."""
    if leaks[i] < 0.5 and leaks[j] < 0.5:
        return leaks[j] - leaks[i]
    return values[i] - values[j]


@njit(cache=True, nogil=True)
def _scale_column_down(matrix: ndarray, column: int, exponent: int) -> None:
    for i in range(matrix.shape[0]):
        matrix[i, column] = math.ldexp(matrix[i, column], -exponent)


@njit(cache=True, nogil=True)
def _right_vectors(
    strict: ndarray, values: ndarray, leaks: ndarray, scale: ndarray, repeated: ndarray
) -> tuple[ndarray, bool]:
    """V of N, column j to be multiplied by 2^scale_j, and whether N can be diagonalised.

    `repeated` (i, j), i > j, receives whether λ_i = λ_j.

    The vector of eigenvalue 0 that begins at BOS is known, D·1 = (1, −1, …, −1), because A_dev·1 = 0.
    """
    n = values.size
    vectors = np.zeros((n, n))
    for i in range(n):
        vectors[i, i] = 1.0
        row = vectors[i]
        for k in range(1, i):
            weight = strict[i, k]
            if weight != 0.0:
                known = vectors[k]
                for j in range(1, k + 1):
                    row[j] += weight * known[j]
        large = False
        for j in range(1, i):
            gap = _difference(values, leaks, j, i)
            if gap != 0.0:
                row[j] /= gap
                large = large or abs(row[j]) > LARGE
                continue
            repeated[i, j] = True
            size = 0.0
            for k in range(j, i):
                size += abs(strict[i, k] * vectors[k, j])
            if abs(row[j]) > ZERO_ULPS * (i - j) * size:
                return vectors, False
            row[j] = 0.0
        if i > 0:
            row[0] = -1.0
            repeated[i, 0] = values[i] == 0.0
        if large:
            for j in range(1, i):
                if abs(row[j]) > LARGE:
                    exponent = math.frexp(row[j])[1]
                    _scale_column_down(vectors, j, exponent)
                    scale[j] += exponent
    return vectors, True


@njit(cache=True, nogil=True)
def _left_vectors(
    strict: ndarray,
    values: ndarray,
    leaks: ndarray,
    vectors: ndarray,
    scale: ndarray,
    repeated: ndarray,
    left_scale: ndarray,
) -> ndarray:
    """Wᵀ: column i is the left vector of λ_i, to be multiplied by 2^left_scale_i; W V = I."""
    n = values.size
    left = np.zeros((n, n))
    for j in range(n - 1, -1, -1):
        left[j, j] = math.ldexp(1.0, 0)
        row = left[j]
        for k in range(j + 1, n):
            weight = strict[k, j]
            if weight != 0.0:
                known = left[k]
                for i in range(k, n):
                    row[i] += weight * known[i]
        # the unit on the diagonal was written before the sums, which start right of it
        for i in range(j + 1, n):
            exponent = 0
            if repeated[i, j]:
                # any value solves the recurrence; W V = I picks one
                overlap = 0.0
                for k in range(j + 1, i + 1):
                    overlap -= left[k, i] * vectors[k, j]
                mantissa, exponent = math.frexp(overlap)
                exponent += scale[j]
                if exponent < LARGE_EXPONENT:
                    row[i] = math.ldexp(mantissa, exponent)
                    continue
                row[i] = mantissa
            else:
                row[i] /= _difference(values, leaks, i, j)
                if abs(row[i]) <= LARGE:
                    continue
                row[i], exponent = math.frexp(row[i])
            kept = row[i]
            _scale_column_down(left, i, exponent)
            row[i] = kept
            left_scale[i] += exponent
    return left


@njit(cache=True, nogil=True)
def _largest_singular_value(lower: ndarray) -> float:
    """By power iteration, until the geometric tail of the Rayleigh quotients is below ACCURACY."""
    n = lower.shape[0]
    v = np.empty(n)
    image = np.empty(n)
    for i in range(n):
        v[i] = 1.0 + 0.5 * np.cos(2.399963229728653 * i)
    quotient = 0.0
    step = np.inf
    for iteration in range(ITERATIONS):
        v /= chain.length(v)
        chain.times(lower, v, image)
        before = quotient
        quotient = chain.length(image)
        chain.times_transposed(lower, image, v)
        step_before = step
        step = abs(quotient - before)
        if iteration < 3:
            continue
        ratio = min(step / step_before, 0.9999) if step_before > 0.0 else 0.0
        if step / (1.0 - ratio) <= ACCURACY * quotient:
            break
    return quotient


@njit(cache=True, nogil=True)
def _orthonormalise(vectors: ndarray, inverse: ndarray, exponents: ndarray, repeated: ndarray) -> None:
    """Unit eigenvectors of one eigenvalue become an orthonormal basis of its eigenspace; the inverse follows."""
    n = exponents.size
    done = np.zeros(n, dtype=np.bool_)
    for first in range(n):
        if done[first]:
            continue
        members = [first]
        for i in range(first + 1, n):
            if repeated[i, first]:
                members.append(i)
                done[i] = True
        size = len(members)
        if size == 1:
            continue
        triangle = np.zeros((size, size))
        # from the last to the first, so that V stays lower triangular
        for p in range(size - 1, -1, -1):
            column = vectors[:, members[p]].copy()
            for _ in range(2):
                for q in range(p + 1, size):
                    other = vectors[:, members[q]]
                    along = 0.0
                    for i in range(n):
                        along += column[i] * other[i]
                    triangle[q, p] += along
                    for i in range(n):
                        column[i] -= along * other[i]
            triangle[p, p] = chain.length(column)
            vectors[:, members[p]] = column / triangle[p, p]
        top = exponents[members[0]]
        for p in range(size):
            top = max(top, exponents[members[p]])
        rows = np.zeros((size, n))
        for p in range(size):
            shift = max(exponents[members[p]] - top, -4000)
            for q in range(n):
                rows[p, q] = math.ldexp(inverse[members[p], q], shift)
        for p in range(size):
            inverse[members[p], :] = 0.0
            for q in range(p + 1):
                for i in range(n):
                    inverse[members[p], i] += triangle[p, q] * rows[q, i]
            exponents[members[p]] = top


@njit(cache=True, nogil=True)
def log10_condition_kernel(a: ndarray) -> float:
    """log10 κ₂(V) of one matrix."""
    n = a.shape[0]
    if n == 1:
        return 0.0
    strict, values, leaks = _strict_chain(a)
    scale = np.zeros(n, dtype=np.int64)
    left_scale = np.zeros(n, dtype=np.int64)
    repeated = np.zeros((n, n), dtype=np.bool_)
    vectors, diagonalisable = _right_vectors(strict, values, leaks, scale, repeated)
    if not diagonalisable:
        return np.inf
    left = _left_vectors(strict, values, leaks, vectors, scale, repeated, left_scale)
    # unit columns of V; the rows of V^{-1} take their lengths
    inverse = np.zeros((n, n))
    exponents = np.zeros(n, dtype=np.int64)
    for i in range(n):
        size = chain.length(vectors[:, i].copy())
        for k in range(i, n):
            vectors[k, i] /= size
        mantissa, exponent = math.frexp(size)
        exponents[i] = exponent + scale[i] + left_scale[i]
        for j in range(i + 1):
            inverse[i, j] = mantissa * left[j, i]
    _orthonormalise(vectors, inverse, exponents, repeated)
    top = exponents.max()
    for i in range(n):
        for j in range(n):
            inverse[i, j] = math.ldexp(inverse[i, j], max(exponents[i] - top, -4000))
    norm = _largest_singular_value(vectors)
    inverse_norm = _largest_singular_value(inverse)
    return np.log10(norm) + np.log10(inverse_norm) + top * np.log10(2.0)


@njit(cache=True, nogil=True)
def departure_kernel(a: ndarray) -> float:
    """‖A_dev − diag‖_F of one matrix."""
    total = 0.0
    for i in range(1, a.shape[0]):
        alive = a[i, i]
        for j in range(1, i):
            alive += a[i, j]
            total += a[i, j] * a[i, j]
        total += alive * alive
    return np.sqrt(total)


def departure(A: Float[ndarray, "n n"]) -> float:
    """Henrici's departure of A_dev from normality: the Frobenius norm of its strict triangle.

    (‖A_dev‖_F² − Σ|λ|²)^{1/2}. One causal stochastic matrix. Raises `CausalStochasticError`. Source: Trefethen &
    Embree, Spectra and Pseudospectra, §48.
    """
    return float(departure_kernel(check_causal_stochastic(A)))


def log10_condition(A: Float[ndarray, "n n"]) -> float:
    """log10 κ₂(V) of the unit eigenvectors V of A_dev, without a cap; right to about 1e-7 of κ.

    One causal stochastic matrix. A repeated eigenvalue with a full eigenspace enters with an orthonormal basis of it;
    `inf` where an eigenvalue is defective. Raises `CausalStochasticError`. Source: transient-reserves §4; recurrences
    of Golub & Van Loan §7.6.4.
    """
    return float(log10_condition_kernel(check_causal_stochastic(A)))
