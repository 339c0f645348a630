"""The ε-pseudospectral radius of the deflated operator, as the root of one equation on the real axis."""

from jaxtyping import Float
from numpy import ndarray

from resolvent.errors import ResolventError
from resolvent.operators._real_axis import evaluate_axis
from resolvent.operators.causal import check_one_matrix


class EpsilonError(ResolventError):
    """ε is not a finite number above 0."""


def pseudospectral_radius(A: Float[ndarray, "n n"], eps: float) -> float:
    """ρ_ε = max{|z| : σ_min(zI − A_dev) ≤ ε} of one causal stochastic matrix, at least ρ + ε.

    On the real axis because D A_dev D ≥ 0: the one root of ‖(rI − A_dev)^{-1}‖₂ = 1/ε in [ρ + ε, ω + ε], ω the
    numerical abscissa. Right to a few parts in 1e8.

    Raises `CausalStochasticError`, and `EpsilonError` unless 0 < ε < ∞. Source: transient-reserves §2; the real axis is
    ours.
    """
    checked = check_one_matrix(A)
    if not 0.0 < eps < float("inf"):
        raise EpsilonError(f"epsilon must be a finite number above 0, not {eps!r}")
    return float(evaluate_axis(checked, False, (float(eps),))[4][0])
