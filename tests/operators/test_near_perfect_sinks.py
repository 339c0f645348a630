"""Heads that leave next to nothing off BOS: norms are extreme at most radii, the constant is just above 1."""

import numpy as np
import pytest

from resolvent.operators import bos_preserving, kreiss_constant, kreiss_from_bos_mass, row_permutation


def sink(mass: float, seed: int, n: int = 128) -> np.ndarray:
    """A causal matrix whose rows put about `mass` on BOS and the rest by a sharp softmax."""
    rng = np.random.default_rng(seed)
    rest = np.tril(np.exp(4 * rng.standard_normal((n, n))))
    rest[:, 0] = 0
    rest[0, 0] = 1
    rest /= rest.sum(axis=1, keepdims=True)
    kept = 1 - (1 - mass) * rng.uniform(0.2, 5, (n, 1)).clip(max=0.9 / (1 - mass))
    kept[0] = 1
    bos = np.zeros((n, n))
    bos[:, 0] = 1
    matrix = kept * bos + (1 - kept) * rest
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("null", [bos_preserving, row_permutation])
@pytest.mark.parametrize("mass", [0.9, 0.99, 0.999, 0.99999])
def test_the_constant_is_finite_and_certified(null, mass: float) -> None:
    """An infinite value of one null once spoiled the rank test of a whole claim."""
    for seed in range(6):
        found = kreiss_constant(null(sink(mass, seed), np.random.default_rng(seed)))
        assert 1 <= found.lower <= found.upper < np.inf
        assert found.upper <= found.lower * (1 + 1e-5)


def test_an_even_sink_sits_at_the_law() -> None:
    """With the rest on the diagonal the closed form is exact, floor included."""
    for mass in (0.5, 0.8, 0.9, 0.999999):
        matrix = (1 - mass) * np.eye(64)
        matrix[:, 0] += mass
        assert kreiss_constant(matrix).lower == pytest.approx(kreiss_from_bos_mass(mass, 64), rel=1e-6)
