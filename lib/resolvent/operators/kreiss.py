"""The Kreiss constant of the deflated operator, certified on the real axis; and that of the undeflated matrix."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from resolvent.operators._raw_kreiss import raw_kreiss_kernel
from resolvent.operators._real_axis import EVALUATION_BUDGET, evaluate_axis
from resolvent.operators.causal import check_one_matrix


@dataclass(frozen=True)
class KreissConstant:
    """K = sup_{|z|>1} (|z| − 1) ‖(zI − A_dev)^{-1}‖₂ as two bounds.

    lower        attained at `at`; 1 exactly when the supremum is attained at infinity only
    upper        proved over the whole axis; upper / lower − 1 ≤ 1e-6 unless the evaluation budget ended first
    at           the r > 1 of the lower bound; 1.0 stands for the limit r → 1+, inf for K = 1
    evaluations  resolvent norms and interval bounds computed
    """

    lower: float
    upper: float
    at: float
    evaluations: int


def kreiss_constant(A: Float[ndarray, "n n"], *, budget: int = EVALUATION_BUDGET) -> KreissConstant:
    """K(A_dev) of one causal stochastic matrix, dimensionless, from 1 to max(1, √(2(n − 1))).

    The supremum is attained on the real axis because D A_dev D ≥ 0. Branch and bound over r, by two upper bounds:
    chords of log(r g(r)), convex in −log r (Kingman), and on flat stretches hitting probabilities of the killed chain.
    `budget` limits the evaluations; where it ends the search, upper is the bound proved so far.

    Raises `CausalStochasticError`. Source: transient-reserves §2; the real axis and the certificate are ours.
    """
    lower, upper, at, evaluations, _ = evaluate_axis(check_one_matrix(A), True, (), budget=budget)
    return KreissConstant(lower, upper, at, evaluations)


def raw_kreiss_constant(A: Float[ndarray, "n n"]) -> float:
    """K(A) of the undeflated causal stochastic matrix, numerically.

    The largest of (r − 1)‖(rI − A)^{-1}‖₂ over a spread of r − 1 from far below the smallest positive leak to 10. Comes
    to √n (to rounding) if and only if no row i > 0 is absorbing.

    Raises `CausalStochasticError`. Source: transient-reserves §2.
    """
    checked = check_one_matrix(A)
    n = checked.shape[-1]
    return float(raw_kreiss_kernel(checked, np.empty((n, n)), np.empty((5, n))))
