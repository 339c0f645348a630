"""Depth products against explicit products, closed forms, and far below the smallest double."""

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.operators.depth import depth_products, rollout_products, uniform_attention
from resolvent.operators.nulls import dirichlet


def random_stack(layers: int, n: int, seed: int = 0, spread: float = 3.0, sink: float = 0.0) -> np.ndarray:
    """Head-mean matrices of random softmax heads."""
    rng = np.random.default_rng(seed)
    scores = spread * rng.standard_normal((layers, 4, n, n))
    scores[..., 0] += sink
    weights = np.tril(np.exp(scores))
    return (weights / weights.sum(axis=-1, keepdims=True)).mean(axis=1)


def deflated(A: np.ndarray) -> np.ndarray:
    A_dev = A.copy()
    A_dev[:, 0] -= 1.0
    return A_dev


def explicit(layers: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """D, E, N in decades by dense products of the deflated layers and SVDs."""
    product, rows = np.eye(len(layers[0])), []
    for layer in layers:
        product = layer @ product
        rows.append((np.linalg.norm(product, 2), np.abs(np.diagonal(layer)).max(), np.linalg.norm(layer, 2)))
    D, radius, norm = np.array(rows).T
    with np.errstate(divide="ignore"):
        return np.log10(D), np.cumsum(np.log10(radius)), np.cumsum(np.log10(norm))


@pytest.mark.parametrize("n", [2, 3, 24, 64])
@pytest.mark.parametrize("sink", [0.0, 4.0])
def test_products_equal_the_explicit_ones(n: int, sink: float) -> None:
    """The killed-chain form is an orthogonal similarity, so no norm may change."""
    stack = random_stack(5, n, sink=sink)
    products = depth_products(stack)
    D, E, N = explicit([deflated(A) for A in stack])
    np.testing.assert_allclose(products.log10_deviation, D, atol=1e-10)
    np.testing.assert_allclose(products.log10_eigenvalue, E, atol=1e-12)
    np.testing.assert_allclose(products.log10_norm, N, atol=1e-10)


@pytest.mark.parametrize("n", [2, 3, 24, 64])
def test_rollout_equals_the_explicit_products(n: int) -> None:
    """Rollout is deflated after mixing: ½(I − P) + ½A_dev."""
    stack = random_stack(5, n)
    eye_dev = deflated(np.eye(n))
    products = rollout_products(stack)
    D, E, N = explicit([0.5 * eye_dev + 0.5 * deflated(A) for A in stack])
    np.testing.assert_allclose(products.log10_deviation, D, atol=1e-10)
    np.testing.assert_allclose(products.log10_eigenvalue, E, atol=1e-12)
    np.testing.assert_allclose(products.log10_norm, N, atol=1e-10)


@pytest.mark.parametrize("n", [2, 16, 48])
@pytest.mark.parametrize("products", [depth_products, rollout_products])
def test_the_norm_bound_holds_at_every_depth(products, n: int) -> None:
    """The 2-norm is submultiplicative."""
    for seed in range(4):
        result = products(random_stack(10, n, seed=seed, spread=1.0 + seed, sink=seed))
        assert np.all(result.log10_deviation <= result.log10_norm + 1e-10)


def test_the_projector_splits_off_a_product_exactly() -> None:
    """Π A^(l) − P = Π A_dev^(l): the deviation is what is left of the product itself."""
    stack = random_stack(6, 20)
    product = np.eye(20)
    for A in stack:
        product = A @ product
    D = np.linalg.norm(deflated(product), 2)
    assert depth_products(stack).log10_deviation[-1] == pytest.approx(np.log10(D), abs=1e-8)


def test_uniform_attention_has_its_known_gap() -> None:
    """The baseline that has learned nothing: 2.42, 2.94, 3.07 decades at 6, 12, 30 layers of 128 tokens."""
    products = depth_products(np.stack([uniform_attention(128)] * 30))
    gap = products.log10_deviation - products.log10_eigenvalue
    np.testing.assert_allclose(gap[[5, 11, 29]], [2.42, 2.94, 3.07], atol=5e-3)
    np.testing.assert_allclose(products.log10_eigenvalue, -np.arange(1, 31) * np.log10(2.0), atol=1e-12)


def test_a_sink_mixture_decays_as_its_closed_form() -> None:
    """(pI + (1−p)P)^k deviates by p^k √n, here far below the smallest double."""
    n, p, layers = 32, 1e-20, 40
    A = p * np.eye(n)
    A[:, 0] += 1.0 - p
    products = depth_products(np.stack([A] * layers))
    np.testing.assert_allclose(
        products.log10_deviation, -20.0 * np.arange(1, layers + 1) + 0.5 * np.log10(n), rtol=0, atol=1e-9
    )


def test_layers_below_the_root_of_the_smallest_double_keep_their_norm() -> None:
    """A leak of 1e-200 squares to zero; the norm must not."""
    A = np.zeros((3, 3))
    A[:, 0] = 1.0
    A[1, 1] = A[2, 1] = 1e-200
    products = depth_products(np.stack([A, A]))
    np.testing.assert_allclose(products.log10_norm, [-200 + np.log10(2.0), -400 + 2 * np.log10(2.0)], atol=1e-9)
    np.testing.assert_allclose(products.log10_deviation, [-200 + np.log10(2.0), -400 + np.log10(2.0)], atol=1e-9)


def test_a_nilpotent_product_ends_at_minus_infinity() -> None:
    """Previous-token attention has ‖A_dev^k‖ = √(n−k) up to k = n−2, then exactly zero."""
    n = 10
    A = np.zeros((n, n))
    A[0, 0] = 1.0
    A[np.arange(1, n), np.arange(n - 1)] = 1.0
    products = depth_products(np.stack([A] * n))
    np.testing.assert_allclose(10.0 ** products.log10_deviation[: n - 2], np.sqrt(n - np.arange(1.0, n - 1)), rtol=1e-9)
    assert np.all(products.log10_deviation[n - 2 :] == -np.inf)
    assert np.all(products.log10_eigenvalue == -np.inf)


def test_order_is_first_layer_first() -> None:
    """The product is A^(L)…A^(1); reversed, non-commuting layers give another number."""
    stack = np.stack([dirichlet(9, np.random.default_rng(1)), uniform_attention(9), np.eye(9)[np.r_[0, 0:8]]])
    D, _, _ = explicit([deflated(A) for A in stack])
    np.testing.assert_allclose(depth_products(stack).log10_deviation, D, atol=1e-10)
    assert abs(depth_products(stack[::-1]).log10_deviation[-1] - D[-1]) > 1e-3


def test_nearly_decoupled_blocks_are_no_obstacle() -> None:
    """The column of row sums keeps the second singular value of a killed chain below the first over √2."""
    A = np.zeros((5, 5))
    A[0, 0] = 1.0
    A[1, [0, 1]] = [0.5, 0.5]
    A[2, [0, 2]] = [0.5, 0.5]
    A[3, [0, 3]] = [0.5 - 1e-7, 0.5 + 1e-7]
    A[4, [0, 1, 4]] = [0.1, 0.1, 0.8]
    D, _, N = explicit([deflated(A)] * 3)
    products = depth_products(np.stack([A] * 3))
    np.testing.assert_allclose(products.log10_deviation, D, atol=1e-9)
    np.testing.assert_allclose(products.log10_norm, N, atol=1e-9)


def test_one_token_has_no_deviation() -> None:
    """At n = 1 the deflated matrix is zero."""
    products = depth_products(np.ones((3, 1, 1)))
    for values in (products.log10_deviation, products.log10_eigenvalue, products.log10_norm):
        np.testing.assert_array_equal(values, -np.inf)


def test_what_is_no_stack_is_refused() -> None:
    """One matrix, an empty stack or a spoiled layer must not give a number."""
    with pytest.raises(ResolventError, match="layers, n, n"):
        depth_products(uniform_attention(4))
    with pytest.raises(ResolventError):
        depth_products(np.empty((0, 4, 4)))
    stack = random_stack(3, 4)
    stack[1, 2, 1] = np.nan
    with pytest.raises(ResolventError):
        depth_products(stack)
    with pytest.raises(ResolventError):
        uniform_attention(0)
