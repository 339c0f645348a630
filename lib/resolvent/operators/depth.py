"""What is left of a deviation after L layers of head-mean attention, beside its eigenvalue and norm estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numba import njit

from resolvent.errors import ResolventError
from resolvent.operators._killed_chain import extended_norm, product, row_sums
from resolvent.operators.causal import check_causal_stochastic


class DepthStackError(ResolventError):
    """A depth product was asked of something that is no stack of layers."""


@dataclass(frozen=True)
class DepthProducts:
    """Cumulative products over layers 1..l for every depth l, decades; −inf where a factor or product is exactly zero.

    The gap of definitions.md §5, log10(D/E), is `log10_deviation - log10_eigenvalue`.
    """

    log10_deviation: Float64[np.ndarray, " layers"]  # D: 2-norm of the product of the deflated layers
    log10_eigenvalue: Float64[np.ndarray, " layers"]  # E: product of their spectral radii
    log10_norm: Float64[np.ndarray, " layers"]  # N: product of their 2-norms, so D ≤ N


def depth_products(stack: Float64[np.ndarray, "layers n n"]) -> DepthProducts:
    """D, E and N of A_dev^(l)…A_dev^(1) at every depth l of a stack of causal stochastic matrices, first layer first.

    Norms are right to 1e-13 relative; products are rescaled by powers of two, so that holds far below 1e-308 too.
    Raises DepthStackError for another shape, CausalStochasticError for a layer that is not causal stochastic.
    Source: depth products of transient-reserves. With S = diag(−1, 1, …, 1), S A_dev S = [[0, 0], [B·1, B]] ≥ 0, and a
    product of these is [[0, 0], [X·1, X]], X the product of the B: sums of non-negative numbers, no difference from P.
    """
    return _products(_killed_chains(stack))


def rollout_products(stack: Float64[np.ndarray, "layers n n"]) -> DepthProducts:
    """The same for attention mixed with the identity, deflated after mixing: ½(I − P) + ½A_dev.

    Errors and accuracy as `depth_products`. In the form above it replaces B by ½(I + B).
    """
    chains = _killed_chains(stack)
    chains += np.eye(chains.shape[1])
    chains *= 0.5
    return _products(chains)


def uniform_attention(n: int) -> Float64[np.ndarray, "n n"]:
    """The matrix of uniform causal attention, 1/(i+1) in row i: the baseline that has learned nothing.

    Raises DepthStackError for n < 1.
    """
    if n < 1:
        raise DepthStackError(f"attention needs n ≥ 1 rows, not {n}")
    return np.tri(n) / np.arange(1.0, n + 1.0)[:, None]


def _killed_chains(stack: np.ndarray) -> np.ndarray:
    """A new array of the blocks B = A[1:, 1:]."""
    if np.ndim(stack) != 3 or not len(stack):
        raise DepthStackError(
            f"depth products need a stack (layers, n, n) of at least one layer, not shape {np.shape(stack)}"
        )
    return check_causal_stochastic(stack)[:, 1:, 1:].copy()


def _products(chains: np.ndarray) -> DepthProducts:
    layers, m = chains.shape[:2]
    if m == 0:
        return DepthProducts(*(np.full(layers, -np.inf) for _ in range(3)))
    deviation = np.empty(layers)
    killed, exponent = chains[0], 0
    for layer, chain in enumerate(chains):
        if layer:
            killed = _after(chain, killed)
        killed, shift = _rescaled(killed)
        exponent += shift
        deviation[layer] = _log10(_norm(killed)) + exponent * np.log10(2.0)
    radius = np.diagonal(chains, axis1=1, axis2=2).max(axis=1)
    norms = np.empty(layers)
    for layer, chain in enumerate(chains):
        scaled, shift = _rescaled(chain)
        norms[layer] = _log10(_norm(scaled)) + shift * np.log10(2.0)
    return DepthProducts(deviation, np.cumsum(_log10(radius)), np.cumsum(norms))


def _rescaled(X: np.ndarray) -> tuple[np.ndarray, int]:
    """X over the power of two that brings its largest entry into [½, 1), and the power: its squares do not vanish."""
    shift = int(np.frexp(X.max())[1])
    return np.ldexp(X, -shift), shift


def _log10(values: np.ndarray | float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log10(values)


@njit(cache=True, nogil=True)
def _after(layer: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The killed chain of one more layer; loops instead of BLAS give the same bits on any number of threads."""
    result = np.empty_like(before)
    product(layer, before, result)
    return result


@njit(cache=True, nogil=True)
def _norm(X: np.ndarray) -> float:
    """‖[X·1, X]‖₂, so the norm of the deflated product."""
    survival = np.empty(len(X))
    row_sums(X, survival)
    return extended_norm([X], survival, np.empty(len(X)))
