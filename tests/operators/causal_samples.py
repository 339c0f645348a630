"""Causal stochastic matrices to test with, closed forms among them, and slow independent values to compare with."""

import numpy as np
from hypothesis import strategies as st


def identity(n):
    return np.eye(n)


def previous_token(n):
    """Row i attends to i − 1, row 0 to itself."""
    A = np.eye(n, k=-1)
    A[0, 0] = 1.0
    return A


def uniform_average(n):
    return np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]


def all_on_token_one(n):
    """Every row from 1 on attends to token 1, row 0 to itself: the ceiling √(2(n − 1))."""
    A = np.zeros((n, n))
    A[1:, 1] = 1.0
    A[0, 0] = 1.0
    return A


def sink_mixture(p, n, leak=None):
    """p·I + (1 − p)·1e0ᵀ; give the leak where 1 − p would lose it."""
    A = p * np.eye(n)
    A[:, 0] += 1.0 - p if leak is None else leak
    A[0] = 0.0
    A[0, 0] = 1.0
    return A


def softmax_head(n, temperature, sink, seed):
    """Random logits times `temperature`, and `sink` added to the logit of token 0."""
    rng = np.random.default_rng(seed)
    logits = temperature * rng.standard_normal((n, n))
    logits[:, 0] += sink
    logits[np.triu_indices(n, 1)] = -np.inf
    A = np.exp(logits - logits.max(axis=1, keepdims=True))
    return A / A.sum(axis=1, keepdims=True)


def permuted_rows(A, seed):
    """A row-permutation null: the values of row i in a random order over {0..i}."""
    rng = np.random.default_rng(seed)
    P = np.zeros_like(A)
    for i in range(A.shape[0]):
        P[i, : i + 1] = rng.permutation(A[i, : i + 1])
    return P


def resolvent_norm(A, r):
    """‖(rI − A_dev)^{-1}‖₂ by a dense SVD: no triangular solve, no killed chain."""
    deflated = A.copy()
    deflated[:, 0] -= 1.0
    return 1.0 / np.linalg.svd(r * np.eye(len(A)) - deflated, compute_uv=False)[-1]


def resolvent_norm_from_leaks(A, x):
    """‖((1 + x)I − A_dev)^{-1}‖₂ from an explicit inverse without cancellation: r − a_ii is x + Σ_{j<i} a_ij."""
    n = len(A)
    inverse = np.zeros((n, n))
    inverse[0, 0] = 1.0 / (1.0 + x)
    for i in range(1, n):
        row = np.zeros(n)
        row[i] = 1.0
        row[0] = A[i, 1:].sum() / (1.0 + x)  # the killed chain's column 0, and its own (0, 0) entry
        row += A[i, 1:i] @ inverse[1:i]
        inverse[i] = row / (x + A[i, :i].sum())
    return np.linalg.norm(inverse, 2)


def with_numerical_abscissa(A, omega):
    """A mixed with 1e0ᵀ until the killed chain's numerical abscissa is just not above `omega`."""
    n = len(A)
    chain = np.zeros((n, n))
    chain[1:, 1:] = A[1:, 1:]
    chain[1:, 0] = A[1:, 1:].sum(axis=1)
    kept = omega / np.linalg.eigvalsh((chain + chain.T) / 2)[-1]  # the chain is linear in A, and 0 at 1e0ᵀ
    mixed = min(kept, 1.0) * A
    mixed[:, 0] += 1.0 - min(kept, 1.0)
    return mixed


@st.composite
def causal_matrices(draw, max_size=9):
    """Small causal stochastic matrices: random, sparse, one-hot, (near-)absorbing rows, repeated diagonals."""
    n = draw(st.integers(1, max_size))
    entry = st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-9, 1.0), st.sampled_from([1e-24, 1e-12, 1e-5, 0.5]))
    A = np.zeros((n, n))
    A[0, 0] = 1.0
    for i in range(1, n):
        row = np.array(draw(st.lists(entry, min_size=i + 1, max_size=i + 1)))
        if row.sum() == 0.0:
            row[draw(st.integers(0, i))] = 1.0
        A[i, : i + 1] = row / row.sum()
    return A
