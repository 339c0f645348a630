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
from resolvent.operators.causal import check_one_matrix

# A numerator of the recurrence at a repeated eigenvalue is zero when it is within this many ulps, per term, of the sum
# of its terms' sizes.
ZERO_ULPS = 8.0 * 2.0**-52
# Eigenvalues closer than this are equal; entries beyond LARGE are scaled down, so one step cannot overflow.
EQUAL = 1e-200
LARGE = 2.0**300
# Eigenvalues this near 1 are told apart by their leaks, which hold more digits of the difference.
NEAR_ONE = 1e-3
# What a scaling takes below this becomes 0: it is nothing beside the largest entry, and subnormals are slow.
SMALL = 1e-290
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


@njit(cache=True, nogil=True, error_model="numpy")
def _inverse_gaps(values: ndarray, leaks: ndarray) -> tuple[ndarray, bool]:
    """1 / (λ_j − λ_i) for j < i, 0 where the two are equal, and whether any are."""
    n = values.size
    inverse = np.zeros((n, n))
    some_equal = False
    for i in range(n):
        row = inverse[i]
        value = values[i]
        for j in range(i):
            gap = values[j] - value
            row[j] = 1.0 / gap if abs(gap) >= EQUAL else 0.0
        if leaks[i] < NEAR_ONE:
            for j in range(i):
                if leaks[j] < NEAR_ONE:
                    gap = leaks[i] - leaks[j]
                    row[j] = 1.0 / gap if abs(gap) >= EQUAL else 0.0
        equal = 0
        for j in range(i):
            equal += row[j] == 0.0
        some_equal = some_equal or equal > 0
    return inverse, some_equal


@njit(cache=True, nogil=True)
def _scaled(value: float, factor: float) -> float:
    value *= factor
    return value if abs(value) >= SMALL else 0.0


@njit(cache=True, nogil=True)
def _add_rows(row: ndarray, weights: ndarray, rows: ndarray, first: int, stop: int) -> None:
    """row += Σ_k weights_k rows_k for first ≤ k < stop, where rows is lower triangular; four at a time."""
    k = first
    while k + 4 <= stop:
        a0, a1, a2, a3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        row0, row1, row2, row3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        for j in range(k + 4):
            row[j] += (a0 * row0[j] + a1 * row1[j]) + (a2 * row2[j] + a3 * row3[j])
        k += 4
    while k < stop:
        a0 = weights[k]
        row0 = rows[k]
        for j in range(k + 1):
            row[j] += a0 * row0[j]
        k += 1


@njit(cache=True, nogil=True)
def _right_vectors(strict: ndarray, inverse_gaps: ndarray, some_equal: bool, scale: ndarray) -> tuple[ndarray, bool]:
    """V of N, column j to be multiplied by 2^scale_j, and whether N can be diagonalised.

    The vector of eigenvalue 0 that begins at BOS is known, D·1 = (1, −1, …, −1), because A_dev·1 = 0.
    """
    n = scale.size
    vectors = np.zeros((n, n))
    vectors[0, 0] = 1.0
    for i in range(1, n):
        row = vectors[i]
        _add_rows(row, strict[i], vectors, 1, i)
        if some_equal:
            for j in range(1, i):
                if inverse_gaps[i, j] == 0.0:
                    size = 0.0
                    for k in range(j, i):
                        size += abs(strict[i, k] * vectors[k, j])
                    if abs(row[j]) > ZERO_ULPS * (i - j) * size:
                        return vectors, False
        gaps = inverse_gaps[i]
        for j in range(1, i):
            row[j] *= gaps[j]
        row[0] = -1.0
        row[i] = 1.0
        if chain.dot(row, row, i) > LARGE * LARGE:
            for j in range(1, i):
                if abs(row[j]) > LARGE:
                    exponent = math.frexp(row[j])[1]
                    factor = math.ldexp(1.0, -exponent)
                    for k in range(j, i + 1):
                        vectors[k, j] = _scaled(vectors[k, j], factor)
                    scale[j] += exponent
    return vectors, True


@njit(cache=True, nogil=True)
def _left_vectors(
    strict: ndarray, inverse_gaps: ndarray, some_equal: bool, vectors: ndarray, scale: ndarray, left_scale: ndarray
) -> ndarray:
    """W = V^{-1}, row i to be multiplied by 2^left_scale_i: left vectors of N, by backward substitution in each row."""
    n = scale.size
    left = np.zeros((n, n))
    sums = np.empty(n)
    ones = np.ones(n)
    columns = np.ascontiguousarray(vectors.T) if some_equal else vectors
    for i in range(n):
        row = left[i]
        gaps = inverse_gaps[i]
        row[i] = 1.0
        sums[: i + 1] = 0.0
        # terms k ≥ added have been added to the sums of all j < added
        added = i + 1
        for j in range(i - 1, 0, -1):
            if added - j == 5 or j == i - 1:
                _add_rows(sums, row, strict, j + 1, added)
                added = j + 1
            total = sums[j]
            for k in range(j + 1, added):
                total += row[k] * strict[k, j]
            entry = -total * gaps[j]
            exponent = 0
            if some_equal and gaps[j] == 0.0:
                # any value solves the recurrence; W V = I picks one
                overlap = -chain.dot(row[j + 1 : i + 1], columns[j, j + 1 : i + 1], i - j)
                entry, exponent = math.frexp(overlap)
                exponent += scale[j]
                if -900 < exponent < 900:
                    entry, exponent = math.ldexp(entry, exponent), 0
            if abs(entry) > LARGE:
                entry, exponent = math.frexp(entry)
            if exponent != 0:
                # entry is the mantissa of a number too large or too small for the row's scale
                if exponent < 0:
                    entry = 0.0
                else:
                    factor = math.ldexp(1.0, -exponent) if exponent < 1000 else 0.0
                    for k in range(j + 1, i + 1):
                        row[k] = _scaled(row[k], factor)
                    for k in range(j + 1):
                        sums[k] = _scaled(sums[k], factor)
                    left_scale[i] += exponent
            row[j] = entry
        # W V = I with the known first column of V; the recurrence would divide what cancels by λ_i
        if i > 0:
            row[0] = chain.dot(row[1:], ones, i)
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
def _orthonormalise(vectors: ndarray, inverse: ndarray, exponents: ndarray, inverse_gaps: ndarray) -> None:
    """Unit eigenvectors of one eigenvalue become an orthonormal basis of its eigenspace; the inverse follows."""
    n = exponents.size
    done = np.zeros(n, dtype=np.bool_)
    for first in range(n):
        if done[first]:
            continue
        members = [first]
        for i in range(first + 1, n):
            if inverse_gaps[i, first] == 0.0:
                members.append(i)
                done[i] = True
        size = len(members)
        if size == 1:
            continue
        triangle = np.zeros((size, size))
        basis = np.empty((size, n))
        # from the last to the first, so that V stays lower triangular
        for p in range(size - 1, -1, -1):
            column = basis[p]
            column[:] = vectors[:, members[p]]
            for _ in range(2):
                for q in range(p + 1, size):
                    other = basis[q]
                    along = chain.dot(column, other, n)
                    triangle[q, p] += along
                    for i in range(members[q], n):
                        column[i] -= along * other[i]
            triangle[p, p] = chain.length(column)
            column /= triangle[p, p]
            vectors[:, members[p]] = column
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
    inverse_gaps, some_equal = _inverse_gaps(values, leaks)
    exponents = np.zeros(n, dtype=np.int64)
    vectors, diagonalisable = _right_vectors(strict, inverse_gaps, some_equal, exponents)
    if not diagonalisable:
        return np.inf
    left_scale = np.zeros(n, dtype=np.int64)
    inverse = _left_vectors(strict, inverse_gaps, some_equal, vectors, exponents, left_scale)
    # unit columns of V; the rows of V^{-1} take their lengths
    sizes = np.zeros(n)
    for i in range(n):
        row = vectors[i]
        for j in range(i + 1):
            sizes[j] += row[j] * row[j]
    for j in range(n):
        size, exponent = math.frexp(np.sqrt(sizes[j]))
        exponents[j] += exponent + left_scale[j]
        for k in range(j + 1):
            inverse[j, k] *= size
        sizes[j] = math.ldexp(1.0 / size, -exponent)
    for i in range(n):
        row = vectors[i]
        for j in range(i + 1):
            row[j] *= sizes[j]
    if some_equal:
        _orthonormalise(vectors, inverse, exponents, inverse_gaps)
    top = exponents.max()
    for i in range(n):
        shift = exponents[i] - top
        if shift < 0:
            factor = math.ldexp(1.0, shift) if shift > -1000 else 0.0
            for j in range(n):
                inverse[i, j] = _scaled(inverse[i, j], factor)
    norm = _largest_singular_value(vectors)
    inverse_norm = _largest_singular_value(inverse)
    return np.log10(norm) + np.log10(inverse_norm) + top * np.log10(2.0)


@njit(cache=True, nogil=True)
def departure_kernel(a: ndarray) -> float:
    """‖A_dev − diag‖_F of one matrix."""
    rows = np.zeros(a.shape[0])
    for i in range(1, a.shape[0]):
        rows[i] = np.hypot(chain.length(a[i, 1:i]), chain.total(a[i, 1:], i))
    return chain.length(rows)


def departure(A: Float[ndarray, "n n"]) -> float:
    """Henrici's departure of A_dev from normality: the Frobenius norm of its strict triangle.

    (‖A_dev‖_F² − Σ|λ|²)^{1/2}. One causal stochastic matrix. Raises `CausalStochasticError`. Source: Trefethen &
    Embree, Spectra and Pseudospectra, §48.
    """
    return float(departure_kernel(check_one_matrix(A)))


def log10_condition(A: Float[ndarray, "n n"]) -> float:
    """log10 κ₂(V) of the unit eigenvectors V of A_dev, without a cap; right to about 1e-7 of κ.

    One causal stochastic matrix. A repeated eigenvalue with a full eigenspace enters with an orthonormal basis of it;
    `inf` where an eigenvalue is defective. Raises `CausalStochasticError`. Source: transient-reserves §4; recurrences
    of Golub & Van Loan §7.6.4.
    """
    return float(log10_condition_kernel(check_one_matrix(A)))
