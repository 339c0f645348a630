"""Pure nulls from actual matrices: pools of log2 K of null draws; the "real" value is drawn as one more of them.

Three kinds of head (sink-like, routing-like, few active rows) times the two row nulls. Under `bos_preserving` the
first and last kind have log2 K skewed to the right, with many values exactly at the floor 0: what breaks tests that
assume a symmetric or continuous null.

The simulations assert that a test's number of rejections stays within `most_rejections`: the upper 1e-6 quantile of the
binomial at the nominal level. The folder makes at most 100 such checks, so that with valid tests fewer than one run in
10,000 would fail were the seeds not fixed.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

LENGTH = 24
TEXTS = 24
POOL = 40
DISTANCES = (0.01, 0.05, 0.2, 0.6, 2.0, 6.0)
"""r − 1 at which the stand-in for K is evaluated; the tests ask only that it has K's floor, ties and skew."""


def log2_kreiss(matrices: np.ndarray) -> np.ndarray:
    """log2 of max(1, largest (r − 1)‖(rI − A_dev)⁻¹‖₂ over DISTANCES)."""
    deflated = matrices.copy()
    deflated[..., 0] -= 1.0
    largest = np.ones(matrices.shape[:-2])
    for distance in DISTANCES:
        resolvent = np.linalg.inv((1 + distance) * np.eye(LENGTH) - deflated)
        largest = np.maximum(largest, distance * np.linalg.norm(resolvent, 2, axis=(-2, -1)))
    return np.log2(largest)


def softmax_head(rng: np.random.Generator, sharpness: float, bos_bias: float) -> np.ndarray:
    logits = sharpness * rng.standard_normal((LENGTH, LENGTH))
    logits[:, 0] += bos_bias
    weights = np.tril(np.exp(logits))
    return weights / weights.sum(axis=1, keepdims=True)


def sink_like(rng: np.random.Generator) -> np.ndarray:
    return softmax_head(rng, 1.5, rng.uniform(3, 6))


def routing_like(rng: np.random.Generator) -> np.ndarray:
    head = 0.15 * softmax_head(rng, 1.0, 0.0) + 0.85 * np.eye(LENGTH, k=-1)
    head[0] = np.eye(LENGTH)[0]
    return head


def few_active_rows(rng: np.random.Generator) -> np.ndarray:
    head = np.zeros((LENGTH, LENGTH))
    head[:, 0] = 1.0
    for row in rng.choice(np.arange(4, LENGTH), 3, replace=False):
        head[row, 0] = 0.1 * rng.random()
        head[row, rng.integers(1, row + 1)] = 1.0 - head[row, 0]
    return head


def permuted_rows(head: np.ndarray, first: int, rng: np.random.Generator) -> np.ndarray:
    """Each row's values permuted within columns first..row."""
    null = head.copy()
    for row in range(1, LENGTH):
        null[row, first : row + 1] = rng.permutation(head[row, first : row + 1])
    return null


HEADS = {"sink_like": sink_like, "routing_like": routing_like, "few_active_rows": few_active_rows}
NULLS = {"row_permutation": 0, "bos_preserving": 1}
KINDS = [(head, null) for head in HEADS for null in NULLS]


@dataclass(frozen=True)
class PureNulls:
    pools: dict[tuple[str, str], np.ndarray]
    """Per kind, log2 K of POOL null draws of each of TEXTS matrices."""

    def sample(self, kind: tuple[str, str], texts: int, heads: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """real (texts, heads) and draws (4, texts, heads): five different draws of one matrix, in random order."""
        rng = np.random.default_rng([seed, texts, KINDS.index(kind)])
        pool = self.pools[kind]
        matrix = rng.integers(len(pool), size=(texts, heads))
        members = np.argsort(rng.random((texts, heads, POOL)), axis=-1)[..., :5]
        values = pool[matrix[..., np.newaxis], members]
        return values[..., 0], np.moveaxis(values[..., 1:], -1, 0)


@pytest.fixture(scope="session")
def pure_nulls() -> PureNulls:
    pools = {}
    for kind in KINDS:
        rng = np.random.default_rng([7, KINDS.index(kind)])
        head, first = HEADS[kind[0]], NULLS[kind[1]]
        matrices = [head(rng) for _ in range(TEXTS)]
        pools[kind] = log2_kreiss(np.array([[permuted_rows(m, first, rng) for _ in range(POOL)] for m in matrices]))
    return PureNulls(pools)


@pytest.fixture(scope="module")
def little_garbage():
    """statsmodels' Holm collects garbage on every call, 30 ms each unless the imported modules are set aside."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(params=KINDS, ids="-".join)
def kind(request) -> tuple[str, str]:
    return request.param


@pytest.fixture(params=[8, 32])
def texts(request) -> int:
    return request.param


@pytest.fixture
def most_rejections():
    """most_rejections(trials, level): exceeded with probability below 1e-6 by a test whose true rate is the level."""
    return lambda trials, level: int(stats.binom.isf(1e-6, trials, level))
