"""What is accepted as a causal stochastic matrix, and its packed and deflated forms."""

import numpy as np
import pytest
from causal_samples import identity, sink_mixture, softmax_head, uniform_average

from resolvent import operators
from resolvent.operators import (
    CausalStochasticError,
    absorbing_rows,
    check_causal_stochastic,
    deflate,
    leaks,
    pack_lower,
    perron_projector,
    unpack_lower,
)


def test_rows_sum_to_one_after_the_check():
    """bfloat16 rows are off by 2e-3; every identity below needs exact stochastic rows."""
    stack = np.stack([softmax_head(6, 1.0, 0.0, s) for s in range(3)]) * 1.002
    checked = check_causal_stochastic(stack.astype(np.float32))
    assert checked.dtype == np.float64
    np.testing.assert_allclose(checked.sum(-1), 1.0, atol=3e-16)


def test_the_check_leaves_its_argument_alone():
    """Callers share stacks between stages."""
    given = uniform_average(4) * 1.001
    before = given.copy()
    check_causal_stochastic(given)
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize(
    ("row", "column", "value", "words"),
    [
        (2, 1, np.nan, "row 2, column 1: nan is not finite"),
        (2, 1, np.inf, "row 2, column 1: inf is not finite"),
        (3, 0, -0.25, "row 3, column 0: -0.25 is negative"),
        (1, 3, 0.5, "row 1, column 3: 0.5 lies above the diagonal"),
        (1, 2, np.nan, "row 1, column 2: nan is not finite"),
        (2, 2, 0.9, "row 2 sums to"),
    ],
)
def test_the_first_offending_entry_is_named(row, column, value, words):
    """A user with thousands of heads has to find the one at fault."""
    stack = np.stack([uniform_average(4)] * 3)
    stack[1, row, column] = value
    stack[2, 0, 0] = 7.0
    with pytest.raises(CausalStochasticError, match="matrix 1: ") as error:
        check_causal_stochastic(stack)
    assert words in str(error.value)
    with pytest.raises(CausalStochasticError, match="layer 1 of 3: row"):
        check_causal_stochastic(stack, where=lambda index: f"layer {index[0]} of 3")


def test_a_row_of_zeros_is_refused():
    """A padded row has no distribution to renormalise."""
    A = uniform_average(3)
    A[2] = 0.0
    with pytest.raises(CausalStochasticError, match="row 2 sums to 0"):
        check_causal_stochastic(A, tolerance=2.0)


@pytest.mark.parametrize("shape", [(3,), (3, 4), (0, 0), (2, 0, 0)])
def test_only_square_matrices_are_taken(shape):
    """Anything else has no resolvent."""
    with pytest.raises(CausalStochasticError, match="square"):
        check_causal_stochastic(np.zeros(shape))


def test_complex_numbers_are_refused():
    """A silent cast would drop the imaginary part."""
    with pytest.raises(CausalStochasticError, match="real numbers"):
        check_causal_stochastic(np.eye(2, dtype=complex))


def test_an_empty_stack_passes():
    """A filter may leave no matrix; that is not an error."""
    assert check_causal_stochastic(np.zeros((0, 5, 5))).shape == (0, 5, 5)


def test_packing_loses_nothing_and_a_prefix_is_the_leading_block():
    """Causal attention of a prefix is exactly the leading block of that of the whole text."""
    stack = np.stack([softmax_head(7, 2.0, 1.0, s) for s in range(4)]).reshape(2, 2, 7, 7)
    packed = pack_lower(stack)
    assert packed.shape == (2, 2, 28)
    np.testing.assert_array_equal(unpack_lower(packed, 7), stack)
    np.testing.assert_array_equal(unpack_lower(packed, 7, length=4), stack[..., :4, :4])


def test_unpacking_refuses_another_size():
    """A wrong n would shear every row, silently."""
    with pytest.raises(CausalStochasticError, match="28 entries"):
        unpack_lower(np.zeros(27), 7)
    with pytest.raises(CausalStochasticError, match="prefix"):
        unpack_lower(np.zeros(28), 7, length=8)


def test_the_perron_projector_absorbs_the_matrix():
    """A P = P A = P² = P is why A^k = P + A_dev^k."""
    A, P = softmax_head(6, 1.5, 0.5, 0), perron_projector(6)
    for product in (A @ P, P @ A, P @ P):
        np.testing.assert_allclose(product, P, atol=1e-15)
    cube = np.linalg.matrix_power
    np.testing.assert_allclose(cube(A, 3), P + cube(deflate(A), 3), atol=1e-14)


def test_the_deflated_eigenvalues_are_zero_and_the_diagonal():
    """A_dev stays triangular, so no Schur form is needed."""
    A = uniform_average(5)
    assert np.array_equal(np.triu(deflate(A), 1), np.zeros((5, 5)))
    np.testing.assert_array_equal(np.diag(deflate(A)), [0.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5])


def test_a_leak_below_the_rounding_of_one_survives():
    """1 − a_ii is 0 there; the sum of the other entries is not."""
    A = sink_mixture(1.0, 3, leak=1e-24)
    np.testing.assert_allclose(leaks(A), [1.0, 1e-24, 1e-24], rtol=1e-12)
    assert absorbing_rows(A) == 0
    assert absorbing_rows(np.stack([identity(4), uniform_average(4)])).tolist() == [3, 0]


@pytest.mark.parametrize(
    "measure",
    [
        "kreiss_constant",
        "raw_kreiss_constant",
        "transient_supremum",
        "departure",
        "log10_condition",
        lambda A: operators.pseudospectral_radius(A, 0.1),
        lambda A: operators.dominant_mode(A, 1),
    ],
)
def test_functions_of_one_matrix_refuse_a_stack_in_words(measure):
    function = getattr(operators, measure) if isinstance(measure, str) else measure
    with pytest.raises(CausalStochasticError, match=r"one matrix of shape \(n, n\), got a stack of shape \(2, 4, 4\)"):
        function(np.stack([uniform_average(4)] * 2))


def test_a_matrix_that_was_deflated_already_is_told_apart():
    with pytest.raises(CausalStochasticError, match=r"row 0 sums to 0.*give A itself"):
        check_causal_stochastic(uniform_average(4) - perron_projector(4))


def test_an_array_that_numpy_cannot_read_is_refused_in_words():
    with pytest.raises(CausalStochasticError, match=r"tensor.float\(\).cpu\(\).numpy\(\)"):
        check_causal_stochastic([[1.0], [0.5, 0.5]])


def test_the_face_lists_its_public_names_only():
    assert dir(operators) == sorted(operators.__all__)
