"""The features of the contest: what each family holds, and how a head's row is formed from its texts.

Family E, spectral and classical (ten columns):

    spectral_radius             ρ(A_dev), the largest diagonal entry
    diagonal_mass               mean a_ii over rows ≥ 1: also the mean of the deflated diagonal, which enters once
    dobrushin                   τ(A)
    operator_norm               ‖A_dev‖₂
    bos_mass                    mean of column 0 over rows ≥ 1
    row_entropy                 mean Shannon entropy of rows, nats
    weight_spectral_radius      of the scoring operator M = W_Qᵀ W_K
    weight_off_axis_energy      fraction of its eigenvalue energy off the real axis
    weight_mean_angle           mean |arg λ|, radians
    weight_effective_rank       its effective rank

Family P, resolvent (fourteen columns):

    kreiss                      K_dev
    kreiss_excess               log2 K_dev less the mean log2 K_dev of its row-permutation nulls, bits
    rho_eps_1e-1, -2, -3        pseudospectral radii of A_dev
    rho_eps_1e-1_over_floor …   the three less their floors ρ + ε
    rho_eps_1e-2_excess         at ε = 0.01 less the mean of its nulls
    k_sup                       argmax of the transient; inf where the supremum is only a limit
    departure                   Henrici's departure from normality of A_dev
    log10_condition             log10 κ₂ of its eigenvectors; inf where defective
    weight_departure            departure of M over ‖M‖_F
    weight_log10_condition      log10 κ₂ of the eigenvectors of M

A claim may add to E (and so to E∪P) `survival` or `survival_short`, and may leave features out. D_head, a quantity of
its own beside the weight-space features, is in no family (ours). Source: transient-reserves, section 8; the
weight-space features, excess over the floor, log10 of the condition number and the survival features are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.errors import ResolventError

if TYPE_CHECKING:
    from jaxtyping import Float

    from resolvent.statistics.contest.rule import ContestRule

WEIGHT_SPECTRAL = ("weight_spectral_radius", "weight_off_axis_energy", "weight_mean_angle", "weight_effective_rank")
WEIGHT_NON_NORMAL = ("weight_departure", "weight_log10_condition")

SPECTRAL_AND_CLASSICAL = (
    "spectral_radius",
    "diagonal_mass",
    "dobrushin",
    "operator_norm",
    "bos_mass",
    "row_entropy",
    *WEIGHT_SPECTRAL,
)

EPSILONS = {"rho_eps_1e-1": 1e-1, "rho_eps_1e-2": 1e-2, "rho_eps_1e-3": 1e-3}

RESOLVENT = (
    "kreiss",
    "kreiss_excess",
    *EPSILONS,
    *(f"{name}_over_floor" for name in EPSILONS),
    "rho_eps_1e-2_excess",
    "k_sup",
    "departure",
    "log10_condition",
    *WEIGHT_NON_NORMAL,
)

FROM_KREISS = ("kreiss", "kreiss_excess")
"""K_dev and every feature computed from it: what `exclude_features: [kreiss]` leaves out."""

SURVIVAL_POWERS = (1, 2, 4, 8, 16)
SHORT_POWERS = (1, 2)

SURVIVAL = (*(f"survival_{k}" for k in SURVIVAL_POWERS), "survival_slope")
SURVIVAL_SHORT = (*(f"log10_survival_{k}" for k in SHORT_POWERS), "log10_mass_off_bos")

ADDITIONS = {"survival": SURVIVAL, "survival_short": SURVIVAL_SHORT}
"""What `add_to_family_e` may name."""

EXCLUSIONS = {"kreiss": FROM_KREISS}
"""What `exclude_features` may name, with all that goes with it."""

BATTERY_COLUMNS = (
    "kreiss",
    *EPSILONS,
    "k_sup",
    "departure",
    "log10_condition",
    "spectral_radius",
    "diagonal_mass",
    "dobrushin",
    "operator_norm",
    "bos_mass",
    "row_entropy",
)
"""What `attention_features` needs of the corpus, per text and head, by the battery's names."""

NULL_COLUMNS = ("kreiss", "rho_eps_1e-2")
"""What it needs of each draw of the row-permutation null."""


class MissingFeature(ResolventError):
    """A feature that a family holds and the evidence does not."""


@dataclass(frozen=True)
class Families:
    """The columns of each family, in the order of their columns in a model."""

    e: tuple[str, ...]
    """Spectral and classical, with the claim's additions."""
    p: tuple[str, ...]
    """Resolvent."""

    @property
    def union(self) -> tuple[str, ...]:
        """E∪P."""
        return self.e + tuple(name for name in self.p if name not in self.e)

    def without(self, names: tuple[str, ...]) -> Families:
        """Both families with the named columns left out."""
        return Families(
            tuple(name for name in self.e if name not in names), tuple(name for name in self.p if name not in names)
        )


def families(rule: ContestRule) -> Families:
    """Families E and P of a claim: the published ones, its additions to E, less its exclusions."""
    added = tuple(name for addition in rule.add_to_family_e for name in ADDITIONS[addition])
    excluded = tuple(name for exclusion in rule.exclude_features for name in EXCLUSIONS[exclusion])
    return Families(SPECTRAL_AND_CLASSICAL + added, RESOLVENT).without(excluded)


def feature_table(columns: Mapping[str, Float[np.ndarray, " heads"]], names: tuple[str, ...]) -> np.ndarray:
    """The named columns side by side, (heads, names) float64. Raises MissingFeature for those that are not there."""
    if missing := [name for name in names if name not in columns]:
        raise MissingFeature(f"the contest lacks the feature {', '.join(missing)}; there are {', '.join(columns)}")
    return np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in names])


def attention_features(
    battery: Mapping[str, Float[np.ndarray, "texts heads"]],
    nulls: Mapping[str, Float[np.ndarray, "draws texts heads"]],
) -> dict[str, Float[np.ndarray, " heads"]]:
    """The features of attention in both families: formed text by text, then the median over texts.

    `battery` holds BATTERY_COLUMNS of the corpus, `nulls` NULL_COLUMNS of its row-permutation draws. What is
    infinite on half of the texts or more (k_sup, log10_condition) is infinite for the head.
    """
    if missing := [name for name in BATTERY_COLUMNS if name not in battery]:
        raise MissingFeature(f"the contest lacks the quantity {', '.join(missing)} of the corpus")
    if missing := [name for name in NULL_COLUMNS if name not in nulls]:
        raise MissingFeature(f"the contest lacks the quantity {', '.join(missing)} of the row-permutation nulls")
    texts = dict(battery)
    texts["kreiss_excess"] = np.log2(battery["kreiss"]) - np.log2(nulls["kreiss"]).mean(axis=0)
    texts["rho_eps_1e-2_excess"] = battery["rho_eps_1e-2"] - nulls["rho_eps_1e-2"].mean(axis=0)
    for name, epsilon in EPSILONS.items():
        texts[f"{name}_over_floor"] = battery[name] - (battery["spectral_radius"] + epsilon)
    weights = WEIGHT_SPECTRAL + WEIGHT_NON_NORMAL
    return {name: np.median(texts[name], axis=0) for name in SPECTRAL_AND_CLASSICAL + RESOLVENT if name not in weights}


def survival_features(
    log10_survival: Float[np.ndarray, "texts heads powers"], length: int
) -> dict[str, Float[np.ndarray, " heads"]]:
    """SURVIVAL from log10 ‖B^k·1‖₂ at k of SURVIVAL_POWERS, of matrices of `length` positions.

    Per text s_k/√(n−1) and the least-squares slope of its log10 on k; then the median over texts. A slope is −inf
    (ours) where any s_k is 0: the chain has died within these steps.
    """
    log10 = _share(log10_survival, len(SURVIVAL_POWERS), length)
    steps = np.array(SURVIVAL_POWERS) - np.mean(SURVIVAL_POWERS)
    alive = np.isfinite(log10).all(axis=-1)
    slope = np.where(alive, np.where(alive[..., np.newaxis], log10, 0.0) @ steps / (steps @ steps), -np.inf)
    shares = np.moveaxis(10.0**log10, -1, 0)
    return {name: np.median(values, axis=0) for name, values in zip(SURVIVAL, [*shares, slope], strict=True)}


def survival_short_features(
    log10_survival: Float[np.ndarray, "texts heads powers"], bos_mass: Float[np.ndarray, "texts heads"], length: int
) -> dict[str, Float[np.ndarray, " heads"]]:
    """SURVIVAL_SHORT from log10 ‖B^k·1‖₂ at k of SHORT_POWERS and the BOS mass: log10 of each, median over texts.

    −inf where nothing survives, or all mass is on BOS.
    """
    log10 = np.moveaxis(_share(log10_survival, len(SHORT_POWERS), length), -1, 0)
    with np.errstate(divide="ignore"):
        off_bos = np.log10(np.maximum(1.0 - np.asarray(bos_mass), 0.0))
    return {name: np.median(values, axis=0) for name, values in zip(SURVIVAL_SHORT, [*log10, off_bos], strict=True)}


def _share(log10_survival: np.ndarray, powers: int, length: int) -> np.ndarray:
    """log10 of s_k/√(n−1)."""
    values = np.asarray(log10_survival, dtype=np.float64)
    if values.ndim != 3 or values.shape[-1] != powers:
        raise MissingFeature(f"survival has the shape {values.shape}; needed is (texts, heads, {powers})")
    return values - 0.5 * np.log10(length - 1)
