"""The dominant transient mode: the direction a power of A_dev reads and the one it writes, most amplified of all."""

import math

import numpy as np
from jaxtyping import Float
from numba import njit
from numpy import ndarray

from resolvent.operators import _killed_chain as chain
from resolvent.operators.causal import check_one_matrix
from resolvent.operators.transient import PowerError


@njit(cache=True, nogil=True)
def dominant_mode_kernel(a: ndarray, k: int) -> tuple[ndarray, ndarray, float]:
    """u, v, sigma of A_dev^k; k = 0 stands for the limit k → ∞."""
    n = a.shape[0]
    u = np.zeros(n)
    v = np.zeros(n)
    if n == 1:
        return u, v, 0.0
    moves = chain.killed_moves(a)
    exponent = 0
    if k == 0:
        matrix = chain.limit_power(moves, chain.killed_leaks(a))
    else:
        matrix, exponent = chain.power(moves, k)
    x = np.empty(n - 1)
    chain.row_sums(matrix, x)
    sigma = chain.extended_norm([matrix], x, u[1:], chain.VECTOR_ACCURACY)
    if sigma == 0.0:
        return u, v, 0.0
    chain.times_transposed(matrix, u[1:], v[1:])
    # D = diag(−1, 1, …, 1) takes the mode of N^k to that of A_dev^k
    v[0] = -chain.dot(x, u[1:], n - 1)
    v /= chain.length(v)
    return u, v, math.ldexp(sigma, exponent)


def dominant_mode(A: Float[ndarray, "n n"], k: float) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"], float]:
    """The top singular triple of A_dev^k: u (writes), v (reads), both of length 1, and sigma = ‖A_dev^k‖₂.

    One causal stochastic matrix; k is a whole number of at least 1 or infinite, as `transient_supremum` gives it. The
    sign is fixed by u ≥ 0; then v_0 ≤ 0 ≤ the rest. The triple is unique, because the second singular value is at most
    1/√2 of the first. Where the power is exactly 0, u, v and sigma are 0; where sigma is below the float range it is 0
    with a valid u and v. Raises `CausalStochasticError` and `PowerError`.
    """
    if not (k == math.inf or (k >= 1 and k == math.floor(k) and k < 2**62)):
        raise PowerError(f"a power is a whole number of at least 1, or infinite, not {k!r}")
    return dominant_mode_kernel(check_one_matrix(A), 0 if k == math.inf else int(k))
