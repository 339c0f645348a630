"""Departure and eigenvector conditioning, against SVDs of small cases and known values."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.operators.causal import CausalStochasticError, deflate
from resolvent.operators.conditioning import departure, log10_condition

DATA = Path(__file__).parent / "data"
REFERENCE = json.loads((DATA / "causal_values.json").read_text())
MATRICES = np.load(DATA / "causal_matrices.npz")


def attention(n: int, seed: int, temperature: float = 1.0) -> np.ndarray:
    weights = np.tril(np.exp(temperature * np.random.default_rng(seed).standard_normal((n, n))))
    return weights / weights.sum(axis=1, keepdims=True)


def uniform(n: int) -> np.ndarray:
    return np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_departure_meets_the_reference(name: str) -> None:
    """Computed by someone else from the same matrices."""
    assert departure(MATRICES[name]) == pytest.approx(REFERENCE[name]["henrici"], rel=1e-11, abs=1e-14)


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_departure_is_the_norm_beyond_the_eigenvalues(n: int, seed: int) -> None:
    """Schur's definition: ‖A_dev‖_F² − Σ|λ|²."""
    deflated = deflate(attention(n, seed))
    beyond = (deflated**2).sum() - (np.diag(deflated) ** 2).sum()
    assert departure(attention(n, seed)) == pytest.approx(math.sqrt(max(beyond, 0)), abs=1e-12)


def test_departure_of_tiny_entries_does_not_underflow() -> None:
    """Squares of 1e-200 leave the float range; lengths are taken in scale."""
    A = np.array([[1, 0, 0], [1, 0, 0], [1, 1e-200, 1e-200]])
    assert departure(A) == pytest.approx(math.sqrt(5) * 1e-200, rel=1e-12)


@pytest.mark.parametrize(("n", "expected"), [(16, 6.945286), (64, 29.839080), (128, 60.373573)])
def test_uniform_averaging_is_as_ill_conditioned_as_known(n: int, expected: float) -> None:
    """Values far beyond what an SVD of the eigenvectors can resolve."""
    assert log10_condition(uniform(n)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("stay", [1e-12, 0.4, 1.0])
def test_two_positions_have_one_angle(stay: float) -> None:
    """The eigenvectors (1, −1)/√2 and e_1 do not depend on a_11 > 0."""
    assert log10_condition(np.array([[1, 0], [1 - stay, stay]])) == pytest.approx(0.382776, abs=1e-6)


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_small_cases_agree_with_an_svd(n: int, seed: int) -> None:
    """While κ stays below 1e7, dense eigenvectors and their singular values are good to what is asked."""
    A = attention(n, seed)
    _, vectors = np.linalg.eig(deflate(A))
    singular = np.linalg.svd(vectors, compute_uv=False)
    if singular[0] / singular[-1] < 1e7:
        assert log10_condition(A) == pytest.approx(math.log10(singular[0] / singular[-1]), abs=1e-6)


def test_condition_has_no_cap() -> None:
    """Eigenvalues 1e-7 apart multiply along the chain: κ passes the largest float and stays finite in log10."""
    n = 80
    A = np.zeros((n, n))
    A[0, 0] = 1
    for i in range(1, n):
        A[i, i] = 0.5 + 1e-7 * i
        A[i, i - 1] = 0.5 - 1e-7 * i
    found = log10_condition(A)
    assert 308 < found < math.inf
    # entry (i, j) of V is Π_{j<l≤i} a_{l,l−1}/(λ_j − λ_l)
    steps = np.log10(0.5) + 7 - np.log10(np.arange(1, n - 1))
    assert found > steps.sum() - 10


@pytest.mark.parametrize("n", [5, 9])
def test_identity_has_a_full_eigenspace(n: int) -> None:
    """Eigenvalue 1 repeats n − 1 times without defect; with an orthonormal basis only the angle to 1/√n remains."""
    cosine = math.sqrt((n - 1) / n)
    expected = 0.5 * math.log10((1 + cosine) / (1 - cosine))
    assert log10_condition(np.eye(n)) == pytest.approx(expected, abs=1e-9)


def test_a_repeated_eigenvalue_enters_with_an_orthonormal_basis() -> None:
    """Two unit eigenvectors of one eigenvalue may be nearly parallel; their eigenspace has no angle of its own."""
    A = np.array(
        [[1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.3, 0.2, 0.5, 0, 0], [0.1, 0.3, 0.3, 0.3, 0], [0.2, 0, 0, 0.3, 0.5]]
    )
    A[2] = [0.5, 0, 0.5, 0, 0]
    deflated = deflate(A)
    bases = []
    for value in (0.0, 0.5, 0.3):
        _, sizes, right = np.linalg.svd(deflated - value * np.eye(5))
        bases.append(right[sizes < 1e-12].T)
    vectors = np.hstack(bases)
    if vectors.shape[1] < 5:
        assert log10_condition(A) == math.inf
    else:
        singular = np.linalg.svd(vectors, compute_uv=False)
        assert log10_condition(A) == pytest.approx(math.log10(singular[0] / singular[-1]), abs=1e-7)


def test_a_repeated_zero_shares_the_eigenspace_of_bos() -> None:
    """Rows on BOS alone have eigenvalue 0 like BOS itself, here without defect."""
    A = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0.2, 0.1, 0.3, 0.4]])
    deflated = deflate(A)
    _, sizes, right = np.linalg.svd(deflated)
    _, others, last = np.linalg.svd(deflated - 0.4 * np.eye(4))
    vectors = np.hstack([right[sizes < 1e-12].T, last[others < 1e-12].T])
    singular = np.linalg.svd(vectors, compute_uv=False)
    assert log10_condition(A) == pytest.approx(math.log10(singular[0] / singular[-1]), abs=1e-7)


@pytest.mark.parametrize("n", [3, 10])
def test_previous_token_is_defective(n: int) -> None:
    """One Jordan block at 0 and no full set of eigenvectors."""
    assert log10_condition(np.eye(n)[[0, *range(n - 1)]]) == math.inf


def test_a_zero_operator_is_perfectly_conditioned() -> None:
    """A_dev = 0: any orthonormal basis will do."""
    assert log10_condition(np.ones((1, 1))) == 0
    A = np.zeros((4, 4))
    A[:, 0] = 1
    assert log10_condition(A) == pytest.approx(0, abs=1e-12)


def test_eigenvalues_that_round_to_one_are_told_apart_by_their_leaks() -> None:
    """Leaks of 1e-20 and 3e-20 make different eigenvalues, both 1.0 as floats; the recurrence divides by 2e-20."""
    A = np.eye(3)
    A[1, 0] = 1e-20
    A[2, :2] = 1e-20, 2e-20
    # V = [1 0 0; −1 1 0; −1 −1 1] up to the lengths of its columns
    vectors = np.array([[1, 0, 0], [-1, 1, 0], [-1, 1, 1.0]])
    vectors[2, 1] = 2e-20 / (3e-20 - 1e-20)
    vectors /= np.linalg.norm(vectors, axis=0)
    singular = np.linalg.svd(vectors, compute_uv=False)
    assert log10_condition(A) == pytest.approx(math.log10(singular[0] / singular[-1]), abs=1e-9)


def test_what_is_not_causal_stochastic_is_refused() -> None:
    """Every public function validates."""
    for quantity in (departure, log10_condition):
        with pytest.raises(CausalStochasticError):
            quantity(np.full((2, 2), 0.5))
