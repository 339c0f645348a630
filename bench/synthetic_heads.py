"""Deterministic attention matrices that look like those of a trained model: sinks, local, induction-like, diffuse."""

import numpy as np


def _softmax(logits: np.ndarray) -> np.ndarray:
    n = logits.shape[0]
    logits = logits.copy()
    logits[np.triu_indices(n, 1)] = -np.inf
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _with_bos_mass(scores: np.ndarray, mass: float) -> np.ndarray:
    """Softmax attention with the BOS logit shifted until the mean of column 0 over rows ≥ 1 is `mass`."""
    low, high = -40.0, 60.0
    for _ in range(60):
        shift = 0.5 * (low + high)
        logits = scores.copy()
        logits[:, 0] += shift
        if _softmax(logits)[1:, 0].mean() < mass:
            low = shift
        else:
            high = shift
    return _softmax(logits)


def sink_head(n: int, mass: float, sharpness: float, rng: np.random.Generator) -> np.ndarray:
    """A share of the attention parked on BOS, the rest by content (a column effect) and by pair."""
    scores = sharpness * (rng.standard_normal((n, n)) + 0.7 * rng.standard_normal(n)[None, :])
    return _with_bos_mass(scores, mass)


def previous_token_head(n: int, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Most attention on the token before."""
    scores = rng.standard_normal((n, n))
    scores[np.arange(1, n), np.arange(n - 1)] += strength
    scores[:, 0] += 2.0
    return _softmax(scores)


def local_head(n: int, reach: float, rng: np.random.Generator) -> np.ndarray:
    """Attention that decays with distance, some of it on BOS."""
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    scores = rng.standard_normal((n, n)) - distance / reach
    return _with_bos_mass(scores, 0.3)


def induction_head(n: int, period: int, rng: np.random.Generator) -> np.ndarray:
    """From the second period on, one token after the previous occurrence; before it, BOS."""
    scores = rng.standard_normal((n, n))
    rows = np.arange(period, n)
    scores[rows, rows - period + 1] += 8.0
    scores[:, 0] += 5.0
    return _softmax(scores)


def diffuse_head(n: int, sharpness: float, rng: np.random.Generator) -> np.ndarray:
    """Attention spread by content, without a sink."""
    return _softmax(sharpness * rng.standard_normal((n, n)))


def synthetic_heads(count: int, n: int) -> np.ndarray:
    """(count, n, n): of every ten, six sinks with BOS mass 0.3 to 0.95, and one of each other kind."""
    heads = np.empty((count, n, n))
    for index in range(count):
        rng = np.random.default_rng([n, index])
        kind = index % 10
        if kind < 6:
            heads[index] = sink_head(n, rng.uniform(0.3, 0.95), rng.uniform(0.7, 2.5), rng)
        elif kind == 6:
            heads[index] = previous_token_head(n, rng.uniform(4.0, 9.0), rng)
        elif kind == 7:
            heads[index] = local_head(n, rng.uniform(2.0, 20.0), rng)
        elif kind == 8:
            heads[index] = induction_head(n, max(n // 3, 2), rng)
        else:
            heads[index] = diffuse_head(n, rng.uniform(0.5, 4.0), rng)
    return heads


def sink_nulls(count: int, n: int) -> np.ndarray:
    """(count, n, n): row permutations of sinks with BOS mass 0.3 to 0.95, the hard inputs of K."""
    nulls = np.zeros((count, n, n))
    for index in range(count):
        rng = np.random.default_rng([n, index, 1])
        head = sink_head(n, rng.uniform(0.3, 0.95), rng.uniform(0.7, 2.5), rng)
        for i in range(n):
            nulls[index, i, : i + 1] = rng.permutation(head[i, : i + 1])
    return nulls
