"""Compiled: (r − 1)‖(rI − A)^{-1}‖₂ of the undeflated causal stochastic matrix, over a spread of r."""

import numba
import numpy as np
from numpy import ndarray

from resolvent.operators._resolvent_norm import scaled_resolvent_norm

# Multiples of the smallest positive leak (at most 1), and fixed values of r − 1 between it and infinity.
BELOW_THE_LEAK = (1e-14, 1e-7, 1e-2)
SPREAD = (1e-6, 1e-3, 1e-1, 1.0, 10.0)


@numba.njit(cache=True, nogil=True)
def raw_kreiss_kernel(A: ndarray, strict: ndarray, work: ndarray) -> float:
    """The largest value over the spread; strict is n × n and work 5 × n work space."""
    n = A.shape[0]
    v, u, z, inverse, leak = work[0], work[1], work[2], work[3], work[4]
    smallest = 1.0
    for i in range(n):
        total = 0.0
        for j in range(i):
            total += A[i, j]
            strict[i, j] = A[i, j]
        leak[i] = total
        if 0.0 < total < smallest:
            smallest = total
    largest = 0.0
    for i in range(n):
        v[i] = 1e-3
    v[0] = 1.0
    for below in BELOW_THE_LEAK:
        x = below * smallest
        low = scaled_resolvent_norm(strict, leak, x, x, 1e-9, largest - 1.0, v, u, z, inverse)[0]
        largest = max(largest, low)
    for x in SPREAD:
        low = scaled_resolvent_norm(strict, leak, x, x, 1e-3, largest, v, u, z, inverse)[0]
        largest = max(largest, low)
    return np.exp(largest)
