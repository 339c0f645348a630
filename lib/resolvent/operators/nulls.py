"""Random matrices to compare a head with, drawn by the registered rules (comments of prereg/subjects.yaml).

Each function takes the generator of its draw and consumes one array of n × n numbers from it, so the bits of a draw
depend on its key alone.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from resolvent.errors import ResolventError
from resolvent.operators.causal import check_causal_stochastic

# Rows sorted together: whole rows of n keys would be twice the work of the triangle, single rows cost a call each.
ROWS_AT_ONCE = 32


class NullDrawError(ResolventError):
    """A null was asked of something it is not defined for."""


def row_permutation(A: Float64[np.ndarray, "n n"], rng: np.random.Generator) -> Float64[np.ndarray, "n n"]:
    """A with the values of each row permuted within its causal support.

    Row i ≥ 1 takes `A[i, argsort(u[i, :i+1])]`, u = `rng.random((n, n))`; every row keeps its values to the bit.
    Raises CausalStochasticError where A is not causal stochastic. Source: the null of transient-reserves.
    """
    _check(A)
    return _permuted(A, rng.random(A.shape))


def bos_preserving(A: Float64[np.ndarray, "n n"], rng: np.random.Generator) -> Float64[np.ndarray, "n n"]:
    """A with the values of each row permuted, except that column 0 stays.

    Row i ≥ 1 takes `A[i, 1 + argsort(u[i, 1:i+1])]` in its columns 1..i, u = `rng.random((n, n))`. The null of what a
    head does beyond parking mass on the first token (ours).
    Raises CausalStochasticError where A is not causal stochastic.
    """
    _check(A)
    keys = rng.random(A.shape)
    keys[:, 0] = -1.0
    return _permuted(A, keys)


def dirichlet(n: int, rng: np.random.Generator) -> Float64[np.ndarray, "n n"]:
    """A matrix whose row i is uniform on the simplex over columns 0..i: Dirichlet(1, …, 1).

    Row i is `e[i, :i+1]` over its sum, e = `rng.standard_exponential((n, n))`. Raises NullDrawError for n < 1.
    """
    if n < 1:
        raise NullDrawError(f"a Dirichlet matrix needs n ≥ 1 rows, not {n}")
    draws = rng.standard_exponential((n, n))
    # Summed over each slice, not over rows padded with zeros: the order of a sum decides its last bit.
    totals = np.array([np.add.reduce(draws[i, : i + 1]) for i in range(n)])
    draws /= totals[:, None]
    draws *= np.tri(n)
    return draws


def layer_permutation(mean: Float64[np.ndarray, "n n"], rng: np.random.Generator) -> Float64[np.ndarray, "n n"]:
    """The row permutation of a layer's head-mean matrix: the per-layer null of depth products (transient-reserves).

    Draw rule and errors as `row_permutation`.
    """
    return row_permutation(mean, rng)


def head_permutation(
    layer: Float64[np.ndarray, "heads n n"], rngs: Sequence[np.random.Generator]
) -> Float64[np.ndarray, "n n"]:
    """The mean over a layer's heads, each row-permuted on its own first (ours).

    `rngs` holds one generator a head, in the order of the heads. Raises NullDrawError where their numbers differ,
    CausalStochasticError where a head is not causal stochastic.
    """
    if layer.ndim != 3 or len(layer) != len(rngs) or not len(rngs):
        raise NullDrawError(
            "head_permutation needs a stack (heads, n, n) and a generator for each head, "
            f"not shape {layer.shape} and {len(rngs)} generators"
        )
    return np.mean([row_permutation(head, rng) for head, rng in zip(layer, rngs, strict=True)], axis=0)


def _permuted(A: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Row i of A in the ascending order of keys[i, :i+1]; keys lie below 1, ties have probability zero."""
    n = len(A)
    np.maximum(keys, _above_diagonal(n) * 2.0, out=keys)  # the masked columns sort last, and A is zero there
    permuted = np.zeros((n, n), dtype=A.dtype)
    for first in range(0, n, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, n)
        order = np.argsort(keys[first:last, :last], axis=1)
        order += _row_starts(n)[first:last]
        permuted[first:last, :last] = np.take(A, order)
    return permuted


def _check(A: np.ndarray) -> None:
    """A sieve of microseconds, as nulls are drawn by the hundred thousand; what it stops is checked in full."""
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.dtype != np.float64 or not _looks_causal_stochastic(A):
        check_causal_stochastic(A)
        if A.ndim != 2:
            raise NullDrawError(f"a null is drawn of one matrix (n, n), not of shape {A.shape}")


def _looks_causal_stochastic(A: np.ndarray) -> bool:
    n = len(A)
    return bool(
        n and A.min() >= 0.0 and np.vdot(A, _above_diagonal(n)) == 0.0 and np.abs(A @ np.ones(n) - 1.0).max() <= 1e-3
    )


@functools.lru_cache(maxsize=16)
def _above_diagonal(n: int) -> np.ndarray:
    mask = np.triu(np.ones((n, n)), 1)
    mask.flags.writeable = False
    return mask


@functools.lru_cache(maxsize=16)
def _row_starts(n: int) -> np.ndarray:
    starts = np.arange(0, n * n, n)[:, None]
    starts.flags.writeable = False
    return starts
