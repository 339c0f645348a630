"""Structural covariates, against reference values and their definitions."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.operators.causal import CausalStochasticError
from resolvent.operators.structure import structure

DATA = Path(__file__).parent / "data"
REFERENCE = json.loads((DATA / "causal_values.json").read_text())
MATRICES = np.load(DATA / "causal_matrices.npz")


def attention(n: int, seed: int) -> np.ndarray:
    weights = np.tril(np.exp(3 * np.random.default_rng(seed).standard_normal((n, n))))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", sorted(set(REFERENCE) - {"tiny1"}))
def test_reference_values_are_met(name: str) -> None:
    """Computed by someone else from the same matrices."""
    expected, found = REFERENCE[name], structure(MATRICES[name])
    assert found.bos_mass == pytest.approx(expected["bos_mass"], abs=1e-11)
    assert found.diagonal_mass == pytest.approx(expected["diagonal_mass"], abs=1e-11)
    assert found.previous_token_mass == pytest.approx(expected["previous_token_mass"], abs=1e-11)
    assert found.row_entropy == pytest.approx(expected["row_entropy_nats"], abs=1e-11)
    assert found.normalised_entropy == pytest.approx(expected["normalised_row_entropy"], abs=1e-11)
    assert found.dobrushin == pytest.approx(expected["dobrushin"], abs=1e-11)


@given(st.integers(2, 20), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_dobrushin_is_the_largest_distance_of_two_rows(n: int, seed: int) -> None:
    """The shortcut through column 0 equals the definition over all pairs of rows."""
    A = attention(n, seed)
    distances = 0.5 * np.abs(A[:, None] - A[None]).sum(axis=-1)
    assert structure(A).dobrushin == pytest.approx(distances.max(), abs=1e-14)


def test_dobrushin_keeps_what_subtraction_would_lose() -> None:
    """1 − a_i0 of 1e-30 is summed from the entries."""
    A = np.array([[1.0, 0], [1.0, 1e-30]])
    assert structure(A).dobrushin == pytest.approx(1e-30)


def test_stack_is_its_matrices_one_by_one() -> None:
    """Any number of leading axes, also none."""
    stack = np.array([[attention(7, 10 * i + j) for j in range(3)] for i in range(2)])
    found = structure(stack)
    for field, values in vars(found).items():
        assert values.shape == (2, 3)
        assert values[1, 2] == getattr(structure(stack[1, 2]), field)


def test_absorbing_rows_are_those_without_a_leak() -> None:
    """A row whose diagonal rounds to 1 but that leaks 1e-20 does not absorb; row 0 does not count."""
    A = np.eye(4)
    A[2, 0] = 1e-20
    assert structure(A).absorbing_rows == 2


def test_uniform_averaging_has_entropy_log_of_its_support() -> None:
    """Row i is uniform on i + 1 positions, so every normalised entropy is 1 and Dobrushin's coefficient 1 − 1/n."""
    n = 10
    A = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    found = structure(A)
    assert found.row_entropy == pytest.approx(np.log(np.arange(2, n + 1)).mean())
    assert found.normalised_entropy == pytest.approx(1)
    assert found.dobrushin == pytest.approx(1 - 1 / n)


def test_one_position_has_no_rows_to_average() -> None:
    """Means over no rows are NaN, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = structure(np.ones((1, 1)))
    assert np.isnan([found.bos_mass, found.diagonal_mass, found.previous_token_mass, found.row_entropy]).all()
    assert np.isnan(found.normalised_entropy)
    assert (found.dobrushin, found.absorbing_rows) == (0, 0)


def test_what_is_not_causal_stochastic_is_refused() -> None:
    """Covariates of anything else would be numbers without a meaning."""
    with pytest.raises(CausalStochasticError):
        structure(np.full((2, 2), 0.5))
