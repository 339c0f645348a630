"""Every per-matrix quantity of the study, or a choice of them, over a stack of causal stochastic matrices."""

from collections.abc import Callable, Sequence

import numba
import numpy as np
from jaxtyping import Float
from numpy import ndarray

from resolvent.errors import ResolventError
from resolvent.operators._raw_kreiss import raw_kreiss_kernel
from resolvent.operators._real_axis import EVALUATION_BUDGET, axis_work_space, real_axis_kernel
from resolvent.operators.causal import check_causal_stochastic
from resolvent.operators.conditioning import departure_kernel, log10_condition_kernel
from resolvent.operators.structure import structure_kernel
from resolvent.operators.transient import grows_kernel, operator_norm_kernel, spectral_radius_kernel, transient_kernel

EPSILONS = {"rho_eps_1e-1": 1e-1, "rho_eps_1e-2": 1e-2, "rho_eps_1e-3": 1e-3}

MEANINGS = {
    "kreiss": "lower bound on the Kreiss constant K(A_dev)",
    "kreiss_upper": "upper bound on it",
    "kreiss_at": "the r > 1 of the lower bound: 1 for the limit r -> 1, inf where K = 1",
    "rho_eps_1e-1": "pseudospectral radius of A_dev at epsilon = 0.1",
    "rho_eps_1e-2": "the same at 0.01",
    "rho_eps_1e-3": "the same at 0.001",
    "transient": "lower bound on sup_k ||A_dev^k||",
    "transient_upper": "upper bound on it",
    "k_sup": "the smallest k that attains it; inf where it is only a limit",
    "spectral_radius": "largest |eigenvalue| of A_dev",
    "operator_norm": "||A_dev||",
    "departure": "Henrici's departure from normality of A_dev",
    "log10_condition": "log10 of the condition number of its eigenvectors; inf where an eigenvalue is defective",
    "bos_mass": "mean attention to token 0, over rows >= 1 as all that follows",
    "diagonal_mass": "mean attention of a token to itself",
    "previous_token_mass": "mean attention to the token before",
    "row_entropy": "mean Shannon entropy of a row, nats",
    "normalised_entropy": "the same, row i divided by log(i + 1)",
    "dobrushin": "Dobrushin's coefficient of A; 1 says nothing",
    "absorbing_rows": "number of rows i > 0 with all mass on themselves",
}
"""What each quantity is, in the order of a table's columns. A_dev = A - 1 e0^T; norms are 2-norms."""

QUANTITIES = tuple(MEANINGS)

# Computed only when asked for by name.
ON_REQUEST = (
    "grows",  # whether k_sup ≥ 2 and sup_k ‖A_dev^k‖ ≥ growth_ratio · ‖A_dev‖
    "raw_kreiss",  # K of the undeflated A, numerically: √n unless a row absorbs
)

_COLUMN = {name: column for column, name in enumerate((*QUANTITIES, *ON_REQUEST))}
_FIRST_STRUCTURE = _COLUMN["bos_mass"]
_WHOLE_NUMBERS = {"absorbing_rows": np.int64, "grows": np.bool_}


class UnknownQuantity(ResolventError):
    """A quantity that the battery does not have."""


# Columns as constants that the compiled loop can read.
_KREISS = _COLUMN["kreiss"]
_RHO = _COLUMN["rho_eps_1e-1"]
_TRANSIENT = _COLUMN["transient"]
_RADIUS = _COLUMN["spectral_radius"]
_NORM = _COLUMN["operator_norm"]
_DEPARTURE = _COLUMN["departure"]
_CONDITION = _COLUMN["log10_condition"]
_ABSORBING = _COLUMN["absorbing_rows"]
_GROWS = _COLUMN["grows"]
_RAW = _COLUMN["raw_kreiss"]


@numba.njit(cache=True, nogil=True)
def _measure(
    A: ndarray,
    wanted: ndarray,
    epsilons: ndarray,
    growth_ratio: float,
    budget: int,
    chain: ndarray,
    leak: ndarray,
    points: ndarray,
    vectors: ndarray,
    work: ndarray,
    row: ndarray,
) -> None:
    """Fill the wanted columns of one matrix's row."""
    kreiss_wanted = wanted[_KREISS] or wanted[_KREISS + 1] or wanted[_KREISS + 2]
    if kreiss_wanted or epsilons.size > 0:
        radii = np.empty(epsilons.size)
        lower, upper, at, _ = real_axis_kernel(
            A, kreiss_wanted, epsilons, budget, chain, leak, points, vectors, work, radii
        )
        row[_KREISS] = lower
        row[_KREISS + 1] = upper
        row[_KREISS + 2] = at
        e = 0
        for column in range(_RHO, _RHO + 3):
            if wanted[column]:
                row[column] = radii[e]
                e += 1
    if wanted[_TRANSIENT] or wanted[_TRANSIENT + 1] or wanted[_TRANSIENT + 2]:
        lower, upper, k_sup = transient_kernel(A, 0.0)
        row[_TRANSIENT] = lower
        row[_TRANSIENT + 1] = upper
        row[_TRANSIENT + 2] = k_sup
    if wanted[_RADIUS]:
        row[_RADIUS] = spectral_radius_kernel(A)
    if wanted[_NORM]:
        row[_NORM] = operator_norm_kernel(A)
    if wanted[_DEPARTURE]:
        row[_DEPARTURE] = departure_kernel(A)
    if wanted[_CONDITION]:
        row[_CONDITION] = log10_condition_kernel(A)
    structural = False
    for column in range(_FIRST_STRUCTURE, _ABSORBING + 1):
        structural = structural or wanted[column]
    if structural:
        bos, diagonal, previous, entropy, normalised, dobrushin, absorbing = structure_kernel(A)
        row[_FIRST_STRUCTURE] = bos
        row[_FIRST_STRUCTURE + 1] = diagonal
        row[_FIRST_STRUCTURE + 2] = previous
        row[_FIRST_STRUCTURE + 3] = entropy
        row[_FIRST_STRUCTURE + 4] = normalised
        row[_FIRST_STRUCTURE + 5] = dobrushin
        row[_FIRST_STRUCTURE + 6] = absorbing
    if wanted[_GROWS]:
        row[_GROWS] = 1.0 if grows_kernel(A, growth_ratio) else 0.0
    if wanted[_RAW]:
        row[_RAW] = raw_kreiss_kernel(A, chain, work)


def battery(
    matrices: Float[ndarray, "... n n"],
    quantities: Sequence[str] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    growth_ratio: float = 1.05,
    budget: int = EVALUATION_BUDGET,
) -> dict[str, ndarray]:
    """The quantities asked for, each an array with the stack's leading shape: float64, but `absorbing_rows` int64 and
    `grows` bool.

    Without `quantities` all of QUANTITIES (MEANINGS says what each is); those of ON_REQUEST only by name. Only what is
    asked for is computed, and a value does not depend on what is asked for beside it, except that ρ_ε, whose search
    starts from the points of K when there are any, may then differ by parts in 1e8. `progress(done, total)` is called
    after every matrix.

    Raises `CausalStochasticError` for what is not causal stochastic and `UnknownQuantity` for a name it does not have.
    """
    names = QUANTITIES if quantities is None else tuple(quantities)
    for name in names:
        if name not in _COLUMN:
            raise UnknownQuantity(f"unknown quantity {name!r}; there are {', '.join(_COLUMN)}")
    checked = check_causal_stochastic(matrices)
    stack, n = checked.shape[:-2], checked.shape[-1]
    flat = checked.reshape(-1, n, n)
    wanted = np.array([name in names for name in _COLUMN])
    epsilons = np.array([epsilon for name, epsilon in EPSILONS.items() if name in names], dtype=np.float64)
    values = np.full((flat.shape[0], len(_COLUMN)), np.nan)
    space = axis_work_space(n, budget)
    for index in range(flat.shape[0]):
        _measure(flat[index], wanted, epsilons, growth_ratio, budget, *space, values[index])
        if progress is not None:
            progress(index + 1, flat.shape[0])
    return {
        name: values[:, _COLUMN[name]].astype(_WHOLE_NUMBERS.get(name, np.float64)).reshape(stack) for name in names
    }


def warm_up() -> None:
    """Compile every kernel that the stages use, or load it from numba's cache on disk.

    Called once before workers start, so that they do not all compile the same code at the same time.
    """
    from resolvent.operators import depth_products, dominant_mode, rollout_products
    from resolvent.operators.transient import deviation_power_norms, survival

    matrix = np.array([[1.0, 0.0, 0.0], [0.3, 0.7, 0.0], [0.1, 0.2, 0.7]])
    battery(matrix, (*QUANTITIES, *ON_REQUEST))
    dominant_mode(matrix, 1)
    deviation_power_norms(matrix, np.array([1, 2]))
    survival(matrix, np.array([1, 2]))
    depth_products(matrix[None])
    rollout_products(matrix[None])
