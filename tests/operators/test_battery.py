"""The battery over stacks."""

import numpy as np
import pytest
from causal_samples import identity, permuted_rows, softmax_head, uniform_average

from resolvent.operators import (
    QUANTITIES,
    CausalStochasticError,
    battery,
    departure,
    kreiss_constant,
    log10_condition,
    pseudospectral_radius,
    raw_kreiss_constant,
    structure,
    transient_supremum,
)
from resolvent.operators.battery import UnknownQuantity


def stack(count=4, n=16):
    return np.stack([softmax_head(n, 1.5, 0.5 * s, s) for s in range(count)])


def test_every_quantity_has_the_shape_of_the_stack():
    """Leading axes are texts, layers, heads."""
    values = battery(stack(6).reshape(2, 3, 16, 16))
    assert tuple(values) == QUANTITIES
    assert all(column.shape == (2, 3) for column in values.values())
    assert values["absorbing_rows"].dtype == np.int64


def test_agrees_with_the_functions_it_is_made_of():
    """There is one way to compute a number, whoever asks."""
    A = stack(3)
    values = battery(A, (*QUANTITIES, "raw_kreiss"))
    for i in range(3):
        K, T = kreiss_constant(A[i]), transient_supremum(A[i])
        assert (values["kreiss"][i], values["kreiss_upper"][i], values["kreiss_at"][i]) == (K.lower, K.upper, K.at)
        assert (values["transient"][i], values["transient_upper"][i], values["k_sup"][i]) == (T.lower, T.upper, T.k_sup)
        assert values["departure"][i] == departure(A[i])
        assert values["log10_condition"][i] == pytest.approx(log10_condition(A[i]), rel=1e-12)
        assert values["raw_kreiss"][i] == raw_kreiss_constant(A[i])
        for name, eps in (("rho_eps_1e-1", 1e-1), ("rho_eps_1e-2", 1e-2), ("rho_eps_1e-3", 1e-3)):
            assert values[name][i] == pytest.approx(pseudospectral_radius(A[i], eps), rel=1e-8)
    covariates = structure(A)
    for name in ("bos_mass", "row_entropy", "dobrushin", "absorbing_rows"):
        np.testing.assert_array_equal(values[name], getattr(covariates, name))


def test_a_choice_gives_only_what_was_asked_for():
    """Nulls need four of the columns; the rest would cost most of the time."""
    names = ("grows", "kreiss", "kreiss_upper", "rho_eps_1e-2")
    values = battery(stack(), names)
    assert tuple(values) == names
    assert values["grows"].dtype == np.bool_
    everything = battery(stack())
    np.testing.assert_array_equal(values["kreiss"], everything["kreiss"])
    np.testing.assert_allclose(values["rho_eps_1e-2"], everything["rho_eps_1e-2"], rtol=1e-8)


def test_growth_is_the_transient_beyond_the_first_power():
    """grows ⇔ k_sup ≥ 2 and sup_k ‖A_dev^k‖ ≥ ratio · ‖A_dev‖, decided without the full transient."""
    A = np.stack([permuted_rows(softmax_head(24, 2.0, 8.0, s), s) for s in range(12)])
    values = battery(A, ("grows", "transient", "operator_norm", "k_sup"), growth_ratio=1.02)
    expected = (values["k_sup"] >= 2) & (values["transient"] >= 1.02 * values["operator_norm"])
    np.testing.assert_array_equal(values["grows"], expected)
    assert 0 < expected.sum() < len(expected)


@pytest.mark.parametrize("A", [stack(4), np.stack([permuted_rows(softmax_head(24, 2.0, 8.0, s), s) for s in range(8)])])
def test_the_kreiss_constant_brackets_the_transient(A):
    """K ≤ max(1, sup_k ‖A_dev^k‖) ≤ e n K: Kreiss's matrix theorem."""
    values = battery(A, ("kreiss", "kreiss_upper", "transient", "transient_upper"))
    assert np.all(values["kreiss"] <= np.maximum(1.0, values["transient_upper"]) * (1 + 1e-9))
    assert np.all(np.maximum(1.0, values["transient"]) <= np.e * A.shape[-1] * values["kreiss_upper"])


def test_the_same_matrix_gives_the_same_bits_in_any_stack():
    """Work space is shared between matrices and must leave no trace."""
    A = stack(5)
    forwards, backwards = battery(A), battery(A[::-1])
    for name in QUANTITIES:
        np.testing.assert_array_equal(forwards[name], backwards[name][::-1])


def test_one_position_has_values_without_warnings():
    """Means over rows ≥ 1 are empty there: NaN by definition, not by accident."""
    values = battery(identity(1))
    assert (values["kreiss"], values["transient"], values["k_sup"], values["dobrushin"]) == (1.0, 0.0, 1.0, 0.0)
    assert np.isnan(values["bos_mass"])


def test_an_empty_stack_gives_empty_columns():
    """A filter may leave no matrix."""
    assert battery(np.zeros((0, 4, 4)), ["kreiss"])["kreiss"].shape == (0,)


def test_progress_counts_every_matrix():
    """A progress bar needs both numbers."""
    seen = []
    battery(stack(3), ["departure"], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_refusals_name_the_matrix_and_the_quantity():
    """Before anything is computed."""
    A = stack(3)
    A[2, 4, 1] = -1.0
    with pytest.raises(CausalStochasticError, match="matrix 2: row 4, column 1"):
        battery(A)
    with pytest.raises(UnknownQuantity, match=r"'kries'.*kreiss"):
        battery(uniform_average(3), ["kries"])
