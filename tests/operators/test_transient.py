"""Power norms of A_dev and their supremum, against explicit powers, closed forms and reference values."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.operators.causal import CausalStochasticError, deflate
from resolvent.operators.nulls import row_permutation
from resolvent.operators.transient import (
    PowerError,
    deviation_power_norms,
    grows,
    operator_norm,
    spectral_radius,
    survival,
    transient_supremum,
)

DATA = Path(__file__).parent / "data"
REFERENCE = json.loads((DATA / "causal_values.json").read_text())
MATRICES = np.load(DATA / "causal_matrices.npz")


def attention(n: int, rng: np.random.Generator, *, bos: float = 0.5, temperature: float = 2.0) -> np.ndarray:
    """A causal softmax matrix that mixes `bos` of its mass, on average, into a sink on token 0."""
    weights = np.tril(np.exp(temperature * rng.standard_normal((n, n))))
    A = weights / weights.sum(axis=1, keepdims=True)
    sink = rng.beta(8 * bos, 8 * (1 - bos), size=(n, 1))
    A *= 1 - sink
    A[:, 0] += sink[:, 0]
    A[0] = np.eye(n)[0]
    return A / A.sum(axis=1, keepdims=True)


def sink_null(n: int, rng: np.random.Generator, bos: float = 0.98) -> np.ndarray:
    return row_permutation(attention(n, rng, bos=bos), rng)


def one_hot(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.eye(n)[[int(rng.integers(i + 1)) for i in range(n)]]


def previous_token(n: int) -> np.ndarray:
    return np.eye(n)[[0, *range(n - 1)]]


def explicit_norms(A: np.ndarray, most: int) -> np.ndarray:
    """‖A_dev^k‖, k = 1, …, most, by products of the deflated matrix."""
    deflated = deflate(A)
    power, norms = np.eye(len(A)), []
    for _ in range(most):
        power = power @ deflated
        norms.append(np.linalg.norm(power, 2))
    return np.array(norms)


def drawn(kind: str, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "head":
        return attention(n, rng, bos=rng.uniform(0.05, 0.95), temperature=rng.choice([1.0, 4.0]))
    if kind == "one-hot":
        return one_hot(n, rng)
    if kind == "nearly one-hot":
        return 0.999 * one_hot(n, rng) + 0.001 * attention(n, rng)
    return sink_null(n, rng, bos=rng.choice([0.9, 0.97, 0.995]))


KINDS = st.sampled_from(["head", "one-hot", "nearly one-hot", "null of a sink"])
SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_reference_values_are_met(name: str) -> None:
    """The references come from a search that knows nothing of the killed chain."""
    expected = REFERENCE[name]
    found = transient_supremum(MATRICES[name])
    assert found.lower == pytest.approx(expected["transient_supremum"], rel=1e-11)
    assert found.upper == pytest.approx(found.lower, rel=1e-9)
    assert found.k_sup == expected["transient_argmax"]
    assert operator_norm(MATRICES[name]) == pytest.approx(expected["operator_norm"], rel=1e-11)
    assert spectral_radius(MATRICES[name]) == pytest.approx(expected["spectral_radius"], rel=1e-11)


@given(KINDS, st.integers(2, 20), SEEDS)
@settings(max_examples=120, deadline=None)
def test_supremum_encloses_every_explicit_power(kind: str, n: int, seed: int) -> None:
    """The upper bound holds for all k, and the lower one is a norm that some power has."""
    A = drawn(kind, n, seed)
    norms = explicit_norms(A, 400)
    found = transient_supremum(A)
    assert found.lower <= found.upper
    # the deflated matrix is a difference, which the kernels avoid
    assert norms.max() <= found.upper * (1 + 1e-12) + 1e-14
    if found.k_sup <= 400 and found.lower > 1e-9:
        assert found.lower == pytest.approx(norms.max(), rel=1e-11, abs=1e-14)
        first = 1 + int(np.argmax(norms >= (1 - 1e-12) * norms.max()))
        assert found.k_sup == first or norms[int(found.k_sup) - 1] == pytest.approx(norms.max(), rel=2e-12)


@given(KINDS, st.integers(2, 40), SEEDS)
@settings(max_examples=60, deadline=None)
def test_no_supremum_is_above_the_ceiling(kind: str, n: int, seed: int) -> None:
    """‖B^k 1‖ ≤ √(n−1) and the power norm is at most √2 times that."""
    found = transient_supremum(drawn(kind, n, seed))
    assert found.upper <= math.sqrt(2 * (n - 1)) * (1 + 1e-9)
    assert found.upper <= found.lower * (1 + 1e-9)


@given(KINDS, st.integers(2, 24), SEEDS, st.sampled_from([1.0, 1.05, 1.5]))
@settings(max_examples=80, deadline=None)
def test_growth_is_what_the_supremum_says(kind: str, n: int, seed: int, ratio: float) -> None:
    """The early decision uses the same bounds, only sooner."""
    A = drawn(kind, n, seed)
    found = transient_supremum(A)
    excess = found.lower / operator_norm(A) if found.lower > 0 else 1.0
    if abs(excess / ratio - 1) > 1e-9:
        assert grows(A, ratio) == (found.k_sup >= 2 and excess >= ratio)


@given(KINDS, st.integers(2, 24), SEEDS, st.integers(1, 200))
@settings(max_examples=80, deadline=None)
def test_power_norms_lie_between_survival_and_root_two_of_it(kind: str, n: int, seed: int, k: int) -> None:
    """Rows of B^k sum to the survival vector, so its two blocks have norms s and at most s."""
    A = drawn(kind, n, seed)
    norm, alive = deviation_power_norms(A, k), survival(A, k)
    if alive == -np.inf:
        assert norm == -np.inf
    else:
        assert alive - 1e-12 * max(1, abs(alive)) <= norm <= alive + math.log10(2) / 2 + 1e-12 * max(1, abs(alive))


def test_power_norms_are_those_of_explicit_powers() -> None:
    """Same numbers by products of the deflated matrix."""
    A = attention(40, np.random.default_rng(0), bos=0.1)
    powers = np.array([[5, 1], [31, 8]])
    expected = np.log10(explicit_norms(A, 31))[powers - 1]
    np.testing.assert_allclose(deviation_power_norms(A, powers), expected, rtol=0, atol=1e-10)


def test_stacks_come_before_powers() -> None:
    """A stack (2, 3) asked for 2 powers gives (2, 3, 2), each entry that of its matrix."""
    rng = np.random.default_rng(1)
    stack = np.array([[attention(6, rng) for _ in range(3)] for _ in range(2)])
    for quantity in (deviation_power_norms, survival):
        found = quantity(stack, [4, 2])
        assert found.shape == (2, 3, 2)
        np.testing.assert_array_equal(found[1, 2], quantity(stack[1, 2], [4, 2]))


@pytest.mark.parametrize("p", [0.5, 0.9, 1 - 1e-9, 1 - 1e-13])
def test_sink_mixture_decays_from_the_first_power(p: float) -> None:
    """‖A_dev^k‖ = p^k √n."""
    n = 32
    A = p * np.eye(n)
    A[:, 0] += 1 - p
    A[0] = np.eye(n)[0]
    found = transient_supremum(A)
    assert found.k_sup == 1
    assert found.lower == pytest.approx(p * math.sqrt(n), rel=1e-12)
    assert found.upper == pytest.approx(found.lower, rel=1e-9)
    np.testing.assert_allclose(
        deviation_power_norms(A, [1, 7, 4000]), np.log10(p) * np.array([1, 7, 4000]) + math.log10(n) / 2, rtol=1e-9
    )


def test_previous_token_dies_after_n_minus_two_steps() -> None:
    """‖A_dev^k‖ = √(n−k) for 1 ≤ k ≤ n−2, then exactly 0."""
    n = 24
    powers = np.arange(1, n + 2)
    expected = np.full(n + 1, -np.inf)
    expected[: n - 2] = np.log10(n - powers[: n - 2]) / 2
    np.testing.assert_allclose(deviation_power_norms(previous_token(n), powers), expected, atol=1e-12)
    assert survival(previous_token(n), n - 1) == -np.inf


def test_identity_stays_where_it_is() -> None:
    """All rows absorb: every power norm is √n."""
    found = transient_supremum(np.eye(20))
    assert (found.lower, found.k_sup) == (pytest.approx(math.sqrt(20)), 1)


def test_all_on_token_one_is_at_the_ceiling() -> None:
    """B·1 = 1 and all mass of B is in one column."""
    A = np.eye(30)[[0] + [1] * 29]
    found = transient_supremum(A)
    assert found.lower == pytest.approx(math.sqrt(2 * 29), rel=1e-14)
    assert found.upper == pytest.approx(found.lower, rel=1e-9)
    assert found.k_sup == 1


@pytest.mark.parametrize("leak", [0.99, 0.01, 1e-6, 1e-12, 1e-24])
def test_supremum_that_is_only_a_limit(leak: float) -> None:
    """Token 1 absorbs, everything else leaks into it: the ceiling is approached and never reached."""
    n = 16
    A = np.eye(n)
    A[2:] *= 1 - leak
    A[2:, 1] += leak
    found = transient_supremum(A)
    assert found.lower == pytest.approx(math.sqrt(2 * (n - 1)), rel=1e-12)
    assert found.upper == pytest.approx(found.lower, rel=1e-9)
    assert found.k_sup == math.inf


@pytest.mark.parametrize("leak", [1e-3, 1e-5, 1e-8])
def test_long_plateau_ends_where_the_two_rates_balance(leak: float) -> None:
    """Rows ≥ 2 leak into token 1 and token 1, ten times slower, into BOS: the norm has a closed form with one top."""
    n = 12
    A = np.eye(n)
    A[1, :2] = leak / 10, 1 - leak / 10
    A[2:] *= 1 - leak
    A[2:, 1] += leak
    found = transient_supremum(A)
    assert found.upper == pytest.approx(found.lower, rel=1e-9)

    # B^k, from the eigenvalues of token 1 (slow) and of the rest (fast), which are 0.9 leaks apart
    def norm(k: float) -> float:
        slow, fast = math.exp(k * math.log1p(-leak / 10)), math.exp(k * math.log1p(-leak))
        moved = fast * math.expm1(k * (math.log1p(-leak / 10) - math.log1p(-leak))) / 0.9
        power = np.diag([slow] + [fast] * (n - 2))
        power[1:, 0] = moved
        return float(np.linalg.norm(np.column_stack([power.sum(axis=1), power]), 2))

    grid = np.unique(np.round(np.geomspace(1, 100 / leak, 4000)))
    top = max(grid, key=norm)
    assert found.lower >= norm(top) * (1 - 1e-11)
    assert found.lower == pytest.approx(norm(found.k_sup), rel=1e-11)
    assert norm(found.k_sup - 1) < (1 - 1e-12) * found.lower * (1 + 1e-14)


def test_a_slow_null_has_its_top_in_the_thousands_and_the_bounds_meet() -> None:
    """A null of a sink: explicit products of all powers confirm the top of a plateau."""
    rng = np.random.default_rng(3)
    seen = 0
    for _ in range(100):
        A = sink_null(16, rng, bos=0.99)
        found = transient_supremum(A)
        assert found.upper <= found.lower * (1 + 1e-9)
        if 1000 <= found.k_sup <= 6000:
            seen += 1
            norms = explicit_norms(A, 8000)
            assert norms.max() <= found.upper * (1 + 1e-12)
            assert found.lower == pytest.approx(norms.max(), rel=1e-11)
            if seen == 2:
                break
    assert seen == 2


def test_powers_far_below_the_float_range_keep_their_logarithm() -> None:
    """Uniform averaging: the largest eigenvalue, 1/2, rules for large k."""
    n = 16
    A = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    norms = deviation_power_norms(A, [4000, 8000])
    assert norms[1] - norms[0] == pytest.approx(-4000 * math.log10(2), rel=1e-12)
    alive = survival(A, [4000, 8000])
    assert alive[1] - alive[0] == pytest.approx(-4000 * math.log10(2), rel=1e-12)


def test_rows_that_die_do_not_take_slow_ones_with_them() -> None:
    """A nilpotent block of norm 1 and, apart from it, a state that keeps 1e-6 a step: only the latter lives on."""
    n = 80
    A = previous_token(n)
    A[1] = 0
    A[1, :2] = 1 - 1e-6, 1e-6
    A[2] = np.eye(n)[0]
    expected = -6.0 * 100 + math.log10(2) / 2
    assert deviation_power_norms(A, 100) == pytest.approx(expected, rel=1e-9)
    assert survival(A, 100) == pytest.approx(-600, rel=1e-9)


def test_smallest_sizes() -> None:
    """n = 1 has A_dev = 0; n = 2 has ‖A_dev^k‖ = √2 a_11^k."""
    one = transient_supremum(np.ones((1, 1)))
    assert (one.lower, one.upper, one.k_sup) == (0, 0, 1)
    assert deviation_power_norms(np.ones((1, 1)), 3) == -np.inf
    assert survival(np.ones((1, 1)), [1, 2]).tolist() == [-np.inf, -np.inf]
    assert not grows(np.ones((1, 1)))
    two = transient_supremum(np.array([[1, 0], [0.3, 0.7]]))
    assert (two.lower, two.k_sup) == (pytest.approx(0.7 * math.sqrt(2)), 1)
    still = transient_supremum(np.array([[1.0, 0], [1, 0]]))
    assert (still.lower, still.upper, still.k_sup) == (0, 0, 1)


@pytest.mark.parametrize("size", [1e-160, 1e-250, 1e-300])
def test_tiny_deviations_keep_their_norm(size: float) -> None:
    """Their squares underflow; ‖A_dev‖ of rows that put `size` on token 1 and the rest on BOS is size·√(2(n−1))."""
    n = 6
    A = np.zeros((n, n))
    A[:, 0] = 1
    A[1:, 1] = size
    found = transient_supremum(A)
    assert found.lower == pytest.approx(size * math.sqrt(2 * (n - 1)), rel=1e-12)
    assert found.k_sup == 1
    assert operator_norm(A) == found.lower
    norms = deviation_power_norms(A, [1, 2])
    np.testing.assert_allclose(norms, np.array([1, 2]) * math.log10(size) + math.log10(2 * (n - 1)) / 2, rtol=1e-12)


def test_what_is_not_causal_stochastic_is_refused() -> None:
    """Every public function validates."""
    bad = np.array([[1.0, 0], [0.3, 0.5]])
    for quantity in (transient_supremum, grows, operator_norm, spectral_radius):
        with pytest.raises(CausalStochasticError):
            quantity(bad)
    with pytest.raises(CausalStochasticError):
        deviation_power_norms(bad, 1)


@pytest.mark.parametrize("powers", [0, [1, -1], 1.5])
def test_powers_are_whole_and_positive(powers: object) -> None:
    """A_dev^0 is not a deviation."""
    with pytest.raises(PowerError):
        deviation_power_norms(np.eye(2), powers)


@pytest.mark.parametrize("leak", [1e-9, 1e-18, 1e-24, 1e-40, 1e-100])
def test_rates_decades_apart_are_settled(leak: float) -> None:
    """Slow rows between fast ones: second differences there are lost in rounding, entry by entry they are not.

    Open only where the supremum itself stands where two slow rates balance, beyond 1e16 powers.
    """
    for seed in range(10):
        rng = np.random.default_rng(seed)
        A = attention(24, rng, bos=0.2)
        for i in np.flatnonzero(rng.random(24) < 0.3):
            if i > 0:
                A[i, :i] *= leak * rng.uniform(0.1, 10.0) / A[i, :i].sum()
                A[i, i] = 1.0 - A[i, :i].sum()
        found = transient_supremum(A)
        assert found.lower <= found.upper
        if not 1e16 < found.k_sup < np.inf:
            assert found.upper <= found.lower * (1.0 + 1e-9)
        power = np.linalg.matrix_power(deflate(A), 2**10)
        assert np.linalg.norm(power, 2) <= found.upper * (1.0 + 1e-9)
