"""The nulls follow the registered draw rules to the bit."""

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.operators.nulls import bos_preserving, dirichlet, head_permutation, layer_permutation, row_permutation

LENGTHS = [1, 2, 3, 31, 32, 33, 64, 128]


def attention(n: int, seed: int = 0, temperature: float = 3.0) -> np.ndarray:
    """A causal softmax matrix with a sink on token 0."""
    rng = np.random.default_rng(seed)
    scores = temperature * rng.standard_normal((n, n))
    scores[:, 0] += 2.0
    weights = np.tril(np.exp(scores))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n", LENGTHS)
def test_row_permutation_is_the_registered_rule(n: int) -> None:
    """A second implementer who sorts row by row must get the same bits."""
    A, u = attention(n), np.random.default_rng(7).random((n, n))
    expected = A.copy()
    for i in range(1, n):
        expected[i, : i + 1] = A[i, np.argsort(u[i, : i + 1])]
    np.testing.assert_array_equal(row_permutation(A, np.random.default_rng(7)), expected)


@pytest.mark.parametrize("n", LENGTHS)
def test_bos_preserving_is_the_registered_rule(n: int) -> None:
    """Column 0 stays and the rest of a row is sorted by its own keys."""
    A, u = attention(n), np.random.default_rng(7).random((n, n))
    expected = A.copy()
    for i in range(1, n):
        expected[i, 1 : i + 1] = A[i, 1 + np.argsort(u[i, 1 : i + 1])]
    np.testing.assert_array_equal(bos_preserving(A, np.random.default_rng(7)), expected)


@pytest.mark.parametrize("n", LENGTHS)
def test_dirichlet_is_the_registered_rule(n: int) -> None:
    """Each row is its exponentials over their own sum."""
    e = np.random.default_rng(7).standard_exponential((n, n))
    expected = np.zeros((n, n))
    for i in range(n):
        expected[i, : i + 1] = e[i, : i + 1] / e[i, : i + 1].sum()
    np.testing.assert_array_equal(dirichlet(n, np.random.default_rng(7)), expected)


@pytest.mark.parametrize("draw", [row_permutation, bos_preserving, layer_permutation])
@pytest.mark.parametrize("n", LENGTHS)
def test_a_permutation_keeps_the_values_of_each_row(draw, n: int) -> None:
    """The null must differ from the head in where values lie and in nothing else, so also stay causal."""
    A = attention(n)
    null = draw(A, np.random.default_rng(1))
    assert not np.triu(null, 1).any()
    for i in range(n):
        np.testing.assert_array_equal(np.sort(null[i, : i + 1]), np.sort(A[i, : i + 1]))


def test_the_draw_does_not_depend_on_the_values() -> None:
    """The permutation comes from the generator alone, also where a row has equal values or zeros."""
    labels = np.tril(np.arange(1.0, 65.0)[None, :].repeat(64, axis=0))
    sums = labels.sum(axis=1, keepdims=True)
    order = np.rint(row_permutation(labels / sums, np.random.default_rng(3)) * sums).astype(int) - 1
    one_hot = np.eye(64)
    null = row_permutation(one_hot, np.random.default_rng(3))
    for i in range(64):
        np.testing.assert_array_equal(null[i, : i + 1], one_hot[i, order[i, : i + 1]])


def test_every_place_of_a_row_is_equally_likely() -> None:
    """A permutation that favours a column would shift the null distribution of every statistic."""
    n, draws = 8, 4000
    counts = sum((row_permutation(np.eye(n), np.random.default_rng(i)) for i in range(draws)), np.zeros((n, n)))
    for i in range(n):
        share = 1.0 / (i + 1)
        assert np.all(np.abs(counts[i, : i + 1] / draws - share) <= 5.5 * np.sqrt(share / draws))


def test_head_permutation_is_the_mean_of_each_heads_own_draw() -> None:
    """Each head has its own key, so a layer's null does not depend on which heads were drawn before."""
    layer = np.stack([attention(16, seed) for seed in range(3)])
    null = head_permutation(layer, [np.random.default_rng(seed) for seed in range(3)])
    expected = np.mean([row_permutation(layer[h], np.random.default_rng(h)) for h in range(3)], axis=0)
    np.testing.assert_array_equal(null, expected)


def test_the_argument_is_left_as_it_was() -> None:
    """Many draws are taken of one captured matrix."""
    A = attention(32)
    before = A.copy()
    row_permutation(A, np.random.default_rng(0))
    bos_preserving(A, np.random.default_rng(0))
    np.testing.assert_array_equal(A, before)


def spoiled(kind: str) -> np.ndarray:
    A = attention(6)
    if kind == "mass above the diagonal":
        A[2, 4] = 0.1
    elif kind == "NaN":
        A[3, 1] = np.nan
    elif kind == "infinite":
        A[3, 1] = np.inf
    elif kind == "negative":
        A[3, 1] = -0.25
    elif kind == "row sum":
        A[5] *= 1.5
    elif kind == "not square":
        A = A[:, :5]
    elif kind == "a stack":
        A = np.stack([A, A])
    return A


@pytest.mark.parametrize("draw", [row_permutation, bos_preserving, layer_permutation])
@pytest.mark.parametrize(
    "kind", ["mass above the diagonal", "NaN", "infinite", "negative", "row sum", "not square", "a stack"]
)
def test_what_is_not_causal_stochastic_is_refused(draw, kind: str) -> None:
    """A null of anything else would be a wrong number without a sign of it."""
    with pytest.raises(ResolventError):
        draw(spoiled(kind), np.random.default_rng(0))


def test_wrong_sizes_are_refused() -> None:
    """A missing generator or an empty matrix is the caller's mistake."""
    layer = np.stack([attention(4), attention(4)])
    with pytest.raises(ResolventError, match="generator for each head"):
        head_permutation(layer, [np.random.default_rng(0)])
    with pytest.raises(ResolventError, match="n ≥ 1"):
        dirichlet(0, np.random.default_rng(0))
