"""ρ_ε of the deflated operator, one root on the real axis."""

import numpy as np
import pytest
from causal_samples import (
    all_on_token_one,
    causal_matrices,
    identity,
    permuted_rows,
    previous_token,
    resolvent_norm,
    resolvent_norm_from_leaks,
    sink_mixture,
    softmax_head,
    uniform_average,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.operators import CausalStochasticError, pseudospectral_radius
from resolvent.operators.pseudospectral_radius import EpsilonError


@pytest.mark.parametrize(("eps", "value"), [(1e-1, 1.570416), (1e-2, 0.883332), (1e-3, 0.649475)])
def test_uniform_averaging_has_its_published_values(eps, value):
    """Eigenvalues 0, 1/2, …, 1/n: far from normal, so the radius is far above ρ + ε."""
    assert pseudospectral_radius(uniform_average(128), eps) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("eps", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize(
    "A",
    [
        identity(16),
        previous_token(40),
        all_on_token_one(16),
        softmax_head(32, 3.0, 0.0, 0),
        permuted_rows(softmax_head(32, 2.0, 9.0, 0), 0),
    ],
    ids=["identity", "previous token", "token one", "sharp", "null of a sink"],
)
def test_the_resolvent_norm_there_is_one_over_epsilon(A, eps):
    """That equation defines it; at ρ = 0 and ρ = 1 alike."""
    assert resolvent_norm(A, pseudospectral_radius(A, eps)) == pytest.approx(1.0 / eps, rel=1e-6)


def test_a_nilpotent_chain_of_a_thousand():
    """The resolvent norm passes 1e200 within the bracket; an overflow means: still above 1/ε."""
    A = previous_token(1000)
    assert resolvent_norm(A, pseudospectral_radius(A, 1e-3)) == pytest.approx(1e3, rel=1e-6)


@pytest.mark.parametrize("eps", [1e-1, 1e-3, 1e-12])
def test_one_position(eps):
    """A_dev = [0]."""
    assert pseudospectral_radius(identity(1), eps) == pytest.approx(eps)


@pytest.mark.parametrize("eps", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("off_bos", [1e-1, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("n", [2, 3, 8, 32])
def test_right_where_next_to_nothing_is_off_bos(n, off_bos, eps):
    """rI − N is nearly a multiple of the identity: its singular values agree to many digits."""
    for seed in range(4):
        head = softmax_head(n, 3.0, 0.0, seed)
        A = off_bos * head + (1.0 - off_bos) * sink_mixture(0.0, n)
        for matrix in (A, permuted_rows(A, seed)):
            radius = pseudospectral_radius(matrix, eps)
            least = min(matrix[i, :i].sum() for i in range(1, n))
            for side in (-1.0, 1.0):  # of 1/ε
                r_minus_rho = (radius - (1.0 - least)) * (1.0 + side * 1e-7)
                assert side * eps * resolvent_norm_from_leaks(matrix, r_minus_rho - least) < side


@settings(max_examples=120, deadline=None)
@given(causal_matrices(), st.floats(1e-5, 1.0))
def test_between_its_floor_and_its_ceiling_and_growing_with_epsilon(A, eps):
    """ρ + ε ≤ ρ_ε ≤ ω + ε, and g falls with r, so a larger ε never gives a smaller radius."""
    deflated = A.copy()
    deflated[:, 0] -= 1.0
    D = np.diag([-1.0] + [1.0] * (len(A) - 1))
    N = D @ deflated @ D
    omega = np.linalg.eigvalsh((N + N.T) / 2)[-1]
    rho = np.diag(deflated).max()
    value = pseudospectral_radius(A, eps)
    assert rho + eps - 1e-12 <= value <= omega + eps + 1e-9
    assert pseudospectral_radius(A, 1.5 * eps) >= value
    assert resolvent_norm(A, value) == pytest.approx(1.0 / eps, rel=1e-5)


@pytest.mark.parametrize("eps", [0.0, -1.0, np.nan, np.inf])
def test_epsilon_must_be_above_zero(eps):
    """At ε = 0 the radius is ρ, and nothing is left to solve."""
    with pytest.raises(EpsilonError, match="epsilon"):
        pseudospectral_radius(uniform_average(3), eps)


def test_refuses_what_is_not_causal_stochastic():
    """A general matrix has no real-axis theorem."""
    with pytest.raises(CausalStochasticError, match="negative"):
        pseudospectral_radius(np.array([[1.0, 0.0], [2.0, -1.0]]), 0.1)
