"""The Kreiss constant in the plane: textbook values, the cases of definition, and agreement with the real-axis path."""

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.operators.kreiss import kreiss_constant
from resolvent.operators.kreiss_general import kreiss_constant_general

JORDAN_AT_ONE = [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0.2]]
TRIPLE_JORDAN_AT_ONE = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0.2]]


def turned(block: object, seed: int) -> np.ndarray:
    """A block in random coordinates, so that its eigenvalues are rounded, and turned about the origin."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=np.shape(block))
    return np.exp(0.7j * seed) * (S @ np.asarray(block, dtype=float) @ np.linalg.inv(S))


def unitary(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))[0]


def causal_stochastic(n: int, seed: int) -> np.ndarray:
    """Softmax rows of growing sharpness, some with a strong diagonal, so that transients grow and last."""
    rng = np.random.default_rng(seed)
    scores = (1 + seed % 4) * rng.standard_normal((n, n)) + (seed % 3) * 2.0 * np.eye(n)
    scores[:, 0] -= seed % 2
    weights = np.tril(np.exp(scores))
    return weights / weights.sum(axis=1, keepdims=True)


def deflated(A: np.ndarray) -> np.ndarray:
    A_dev = A.copy()
    A_dev[:, 0] -= 1.0
    A_dev[0] = 0.0
    return A_dev


@pytest.mark.parametrize("c", [0.5, 1.0, 2.0, 2.001, 3.0, 10.0, 1e4])
def test_a_nilpotent_block_has_its_closed_form(c: float) -> None:
    """K([[0, c], [0, 0]]) = c/4 + 1/c from c = 2 on and exactly 1 below."""
    expected = c / 4 + 1 / c if c > 2 else 1.0
    assert kreiss_constant_general([[0, c], [0, 0]]) == pytest.approx(expected, rel=1e-9)
    if c <= 2:
        assert kreiss_constant_general([[0, c], [0, 0]]) == 1.0


@pytest.mark.parametrize("c", [3.0, 10.0])
def test_a_unitary_similarity_changes_nothing(c: float) -> None:
    """Resolvent norms are unitarily invariant, in complex coordinates too."""
    U, block = unitary(5, 3), np.zeros((5, 5))
    block[0, 1] = c
    assert kreiss_constant_general(U @ block @ U.conj().T) == pytest.approx(c / 4 + 1 / c, rel=1e-8)


def test_normal_matrices_in_the_disc_have_one() -> None:
    """Their resolvent norm is one over the distance to the spectrum."""
    U = unitary(6, 0)
    assert kreiss_constant_general(U) == 1.0
    assert kreiss_constant_general(U @ np.diag([0.3, 1, 1j, -0.5, 0, 0.9]) @ U.conj().T) == 1.0
    assert kreiss_constant_general(np.zeros((3, 3))) == 1.0
    assert kreiss_constant_general([[0.5]]) == 1.0
    assert kreiss_constant_general(np.diag(np.exp(0.1j * np.arange(1, 40)))) == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_an_eigenvalue_outside_the_disc_means_infinity(seed: int) -> None:
    """Powers grow without bound, however little it lies outside."""
    assert kreiss_constant_general(turned(np.diag([1 + 1e-6, 0.9, 0.5, 0.3]), seed)) == np.inf
    assert kreiss_constant_general(1.5 * unitary(3, seed)) == np.inf
    assert kreiss_constant_general(np.diag([0.2, 1 + 1e-12])) == np.inf


@pytest.mark.parametrize("block", [JORDAN_AT_ONE, TRIPLE_JORDAN_AT_ONE])
@pytest.mark.parametrize("seed", range(6))
def test_a_defective_eigenvalue_on_the_circle_means_infinity(block: object, seed: int) -> None:
    """The resolvent then has a pole of higher order there; rounding breaks it into eigenvalues on both sides."""
    assert kreiss_constant_general(block) == np.inf
    assert kreiss_constant_general(turned(block, seed)) == np.inf


@pytest.mark.parametrize("diagonal", [[1, 1, 0.9999, 0.3], [1, 1, 1, -1], [1 - 1e-6, 1 - 1e-6, 0.5, 0.3]])
@pytest.mark.parametrize("seed", range(4))
def test_semisimple_eigenvalues_on_the_circle_stay_finite(diagonal: list[float], seed: int) -> None:
    """K lies between the projector norm and κ of the coordinates."""
    S = np.random.default_rng(seed).normal(size=(4, 4))
    K = kreiss_constant_general(turned(np.diag(diagonal), seed))
    assert 1.0 <= K <= np.linalg.cond(S) * (1 + 1e-6)


def test_a_projector_is_reached_in_the_limit() -> None:
    """Near a semisimple eigenvalue of modulus 1 the resolvent is the projector over the distance."""
    projector = np.array([[1.0, 3.0], [0.0, 0.0]])
    assert kreiss_constant_general(projector) >= np.sqrt(10.0) * (1 - 1e-12)
    assert kreiss_constant_general(deflated(np.eye(9))) == pytest.approx(3.0, rel=1e-12)


def test_the_larger_of_two_peaks_is_found() -> None:
    """With a fast transient far out and a slow survivor near the circle, elsewhere, a local search sees only one."""
    fast = 12.0 * np.eye(2, k=1)
    slow = np.exp(2.0j) * np.array([[0.999, 0.03], [0.0, 0.999]])
    both = np.zeros((4, 4), dtype=complex)
    both[:2, :2], both[2:, 2:] = fast, slow
    expected = max(kreiss_constant_general(fast), kreiss_constant_general(slow))
    assert kreiss_constant_general(both) == pytest.approx(expected, rel=1e-8)
    assert kreiss_constant_general(slow) > kreiss_constant_general(fast) > 2.0


@pytest.mark.parametrize("seed", range(8))
def test_it_is_a_lower_bound_of_the_powers_and_within_en_of_them(seed: int) -> None:
    """The Kreiss matrix theorem: K ≤ sup ‖M^k‖ ≤ e n K."""
    rng = np.random.default_rng(seed)
    M = np.triu(rng.normal(size=(6, 6))) + 1j * np.triu(rng.normal(size=(6, 6)), 1)
    M *= 0.9 / np.abs(np.diagonal(M)).max()
    powers, power = 1.0, np.eye(6)
    for _ in range(400):
        power = power @ M
        powers = max(powers, np.linalg.norm(power, 2))
    K = kreiss_constant_general(M)
    assert powers * (1 + 1e-9) >= K
    assert powers <= np.e * 6 * K


@pytest.mark.parametrize("n", [2, 3, 5, 9, 16])
@pytest.mark.parametrize("seed", range(6))
def test_causal_stochastic_matrices_attain_it_on_the_real_axis(n: int, seed: int) -> None:
    """The killed chain is non-negative up to signs, so the search in the plane may find nothing above the axis."""
    A = causal_stochastic(n, seed)
    assert kreiss_constant_general(deflated(A)) == pytest.approx(kreiss_constant(A).lower, rel=1e-6)


def test_the_undeflated_matrix_saturates_at_root_n() -> None:
    """Without an absorbing row the supremum is ‖P‖ = √n, in the limit at z = 1."""
    assert kreiss_constant_general(causal_stochastic(9, 4)) == pytest.approx(3.0, rel=1e-9)


@pytest.mark.parametrize(
    ("M", "words"),
    [
        (np.ones((2, 3)), r"\(2, 3\)"),
        (np.ones(4), r"\(4,\)"),
        (np.empty((0, 0)), r"\(0, 0\)"),
        ([[0.0, 1.0], [np.nan, 0.0]], r"entry \(1, 0\) is nan"),
        ([[0.0, np.inf], [0.0, 0.0]], r"entry \(0, 1\) is inf"),
        ([["a", "b"], ["c", "d"]], "numbers"),
    ],
)
def test_what_is_no_finite_square_matrix_is_refused(M: object, words: str) -> None:
    """The message names the shape or the first entry that is wrong."""
    with pytest.raises(ResolventError, match=words):
        kreiss_constant_general(M)
