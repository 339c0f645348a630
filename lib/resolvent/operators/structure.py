"""Structural covariates of an attention matrix: where its mass lies, row entropies, Dobrushin's coefficient."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numba import njit
from numpy import ndarray

from resolvent.operators.causal import check_causal_stochastic


@dataclass(frozen=True)
class Structure:
    """Covariates of a stack (…, n, n), one array of shape (…) each. Means are over rows ≥ 1, NaN where n = 1.

    bos_mass             mean of column 0
    diagonal_mass        mean a_ii
    previous_token_mass  mean a_{i,i−1}
    row_entropy          mean Shannon entropy of a row, nats
    normalised_entropy   mean of the entropy of row i over log(i + 1), in [0, 1]
    dobrushin            ½ max_{i,j} ‖A_i − A_j‖₁ = 1 − min_i a_i0; 1 says nothing
    absorbing_rows       number of rows i > 0 that leave all mass on themselves
    """

    bos_mass: Float[ndarray, "..."]
    diagonal_mass: Float[ndarray, "..."]
    previous_token_mass: Float[ndarray, "..."]
    row_entropy: Float[ndarray, "..."]
    normalised_entropy: Float[ndarray, "..."]
    dobrushin: Float[ndarray, "..."]
    absorbing_rows: Int[ndarray, "..."]


@njit(cache=True, nogil=True)
def structure_kernel(a: ndarray) -> tuple[float, float, float, float, float, float, int]:
    """The covariates of one matrix, in the order of `Structure`."""
    n = a.shape[0]
    if n == 1:
        return np.nan, np.nan, np.nan, np.nan, np.nan, 0.0, 0
    bos = diagonal = previous = entropy = normalised = alive = 0.0
    absorbing = 0
    for i in range(1, n):
        bos += a[i, 0]
        diagonal += a[i, i]
        previous += a[i, i - 1]
        row = 0.0
        for j in range(i + 1):
            if a[i, j] > 0.0:
                row -= a[i, j] * np.log(a[i, j])
        entropy += row
        normalised += row / np.log(i + 1.0)
        leak = 0.0
        rest = 0.0
        for j in range(1, i):
            rest += a[i, j]
        leak = a[i, 0] + rest
        if leak == 0.0:
            absorbing += 1
        # 1 − a_i0 without the subtraction
        alive = max(alive, rest + a[i, i])
    rows = n - 1.0
    return bos / rows, diagonal / rows, previous / rows, entropy / rows, normalised / rows, alive, absorbing


def structure(A: Float[ndarray, "... n n"]) -> Structure:
    """The structural covariates of a stack of causal stochastic matrices.

    0 log 0 = 0. Raises `CausalStochasticError`. Source: transient-reserves §4; Dobrushin's coefficient from column 0
    alone (ours): rows i and j share at least min(a_i0, a_j0), and row 0 = e0 shares exactly a_i0 with row i.
    """
    checked = check_causal_stochastic(A)
    stack = checked.shape[:-2]
    flat = checked.reshape(-1, *checked.shape[-2:])
    values = np.empty((7, flat.shape[0]))
    for index in range(flat.shape[0]):
        values[:, index] = structure_kernel(flat[index])
    bos, diagonal, previous, entropy, normalised, dobrushin, absorbing = (column.reshape(stack) for column in values)
    return Structure(bos, diagonal, previous, entropy, normalised, dobrushin, absorbing.astype(np.int64))
