"""The decisive contest: do resolvent features predict unseen heads better than spectral ones, or add to them?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.contest.features import FROM_KREISS, families, feature_table
from resolvent.statistics.contest.folds import check_folds, grouped_folds
from resolvent.statistics.contest.out_of_fold import design, layer_predictions, ridge_predictions, scored_targets
from resolvent.statistics.contest.paired_bootstrap import Resamples, one_less, resamples, shares_of_spread
from resolvent.statistics.contest.retrieval import top_retrieval_auroc
from resolvent.statistics.contest.rule import GROUPINGS
from resolvent.statistics.interval import Interval
from resolvent.statistics.samples import InvalidSample

if TYPE_CHECKING:
    from jaxtyping import Float, Int, Shaped

    from resolvent.statistics.contest.rule import ContestGenerators, ContestRule

E, P, UNION = "E", "P", "E+P"
FAMILIES = (E, P, UNION)
WITH_KREISS, WITHOUT_KREISS = " with K", " without K"

PUBLISHED_LEVEL = 0.95
"""Of the paper's own rule, whose one printed margin has a 95 % interval (transient-reserves, table 3)."""


@dataclass(frozen=True, eq=False)
class FamilyScore:
    """One family under one grouping and one preprocessing."""

    r2: Interval
    """1 − Σ_h mean_repeats (y_h − f_h)² / Σ_h (y_h − ȳ)²."""
    top5_auroc: float
    """Area under the ROC curve of the prediction, its mean over repeats, for the five heads of the largest target."""
    prediction: Float[np.ndarray, " heads"]
    """Mean over repeats of the out-of-fold predictions."""
    importance: Mapping[str, float]
    """Per feature the drop in R² when it is permuted within each test fold, the mean over all permutations."""


@dataclass(frozen=True)
class Gains:
    """What resolvent features bring under one preprocessing."""

    p_over_e: Interval
    """R²(P) − R²(E)."""
    union_over_e: Interval
    """R²(E∪P) − R²(E)."""

    def larger(self) -> Interval:
        """The larger of the two values, of the two lower ends and of the two upper ends, each on its own."""
        return Interval(
            max(self.p_over_e.value, self.union_over_e.value),
            max(self.p_over_e.low, self.union_over_e.low),
            max(self.p_over_e.high, self.union_over_e.high),
            max(self.p_over_e.undefined, self.union_over_e.undefined),
        )


@dataclass(frozen=True, eq=False)
class Setting:
    """The contest under one grouping and one preprocessing."""

    families: Mapping[str, FamilyScore]
    """By FAMILIES."""
    gains: Gains
    gains_with_kreiss: Gains
    """The same with K_dev and its excess in P; equal to `gains` unless the claim leaves them out."""
    gains_without_kreiss: Gains
    """The same with K_dev and its excess left out of P; equal to `gains` where the claim leaves them out."""
    bos_mass_r2: Interval
    """R² of the BOS mass as the only feature."""


@dataclass(frozen=True)
class PublishedRule:
    """The paper's rule: unseen heads only, an interval over heads only, and no margin."""

    gains: Mapping[str, Gains]
    """By preprocessing; intervals at PUBLISHED_LEVEL over heads."""
    supported: bool
    """Under every preprocessing one of the two gains has an interval above zero."""


@dataclass(frozen=True, eq=False)
class ContestResult:
    """One contest of one subject."""

    heads: int
    layers: int
    target_distinct_values: int
    target: Float[np.ndarray, " heads"]
    """As scored under head folds: −inf replaced as the fold that tests the head replaces it, the mean over repeats."""
    settings: Mapping[tuple[str, str], Setting]
    """By (grouping, preprocessing)."""
    decisive_gain: Interval
    """Unseen heads: the smaller over the preprocessings of the larger gain; low and high likewise from their bounds."""
    decisive_gain_unseen_layers: Interval
    """The same with folds grouped by layer."""
    decisive_gain_with_kreiss: Interval
    decisive_gain_unseen_layers_with_kreiss: Interval
    decisive_gain_without_kreiss: Interval
    decisive_gain_unseen_layers_without_kreiss: Interval
    layer_baseline_r2: Mapping[str, Interval]
    """R² by grouping of the mean target of the head's layer in the training part: is it just depth?"""
    published: PublishedRule


def contest(
    columns: Mapping[str, Float[np.ndarray, " heads"]],
    target: Float[np.ndarray, " heads"],
    layer: Int[np.ndarray, " heads"],
    rule: ContestRule,
    generators: ContestGenerators,
) -> ContestResult:
    """The whole contest of one subject and target.

    `columns` holds every feature of the rule's families (`features`), excluded ones too, one value a head; the target
    may be −inf, a feature infinite of either sign. Everything random is keyed by `generators`, so the result does not
    depend on what else is computed.

    Of 200 simulated targets of 96 heads that no feature shares, at the claims' full setting (20 repeats, 4000 draws),
    their criteria held for none, and for one where half the variance of the target, and of every feature, is the
    layer's; the paper's own rule for 8 and 60.

    Raises TooFewHeads where the folds need more heads or layers than there are, MissingFeature for a feature that is
    not in `columns`, and InvalidSample for NaN, a target of +inf, or shapes that don't fit.
    Source: transient-reserves, section 8, for families and model; folds by layer, the wider bootstrap and the relevance
    margin are ours.
    """
    target, layer = _checked(columns, target, layer)
    full = families(replace(rule, exclude_features=()))
    spare = full.without(FROM_KREISS)
    features = {E: full.e, "BOS": ("bos_mass",)}
    for variant, one in ((WITH_KREISS, full), (WITHOUT_KREISS, spare)):
        features |= {P + variant: one.p, UNION + variant: one.union}
    own = WITH_KREISS if families(rule).p == full.p else WITHOUT_KREISS
    fitted_as = {E: E, P: P + own, UNION: UNION + own}
    names = tuple(dict.fromkeys((*full.union, "bos_mass")))
    of = design(feature_table(columns, names), names)
    labels = {"head": np.arange(len(target)), "layer": layer}
    groups = {"heads": labels["head"], "layers": layer}
    draws = resamples(groups, rule.draws, {over: generators.bootstrap(over) for over in groups})
    judged = Resamples({over: draws.counts[over] for over in rule.over})
    over_heads = Resamples({"heads": draws.counts["heads"]})

    settings: dict[tuple[str, str], Setting] = {}
    baselines: dict[str, Interval] = {}
    published: dict[str, Gains] = {}
    scored_heads = target
    for grouping in GROUPINGS:
        folds = grouped_folds(labels[grouping], grouping, rule, generators)
        check_folds(folds, labels[grouping])
        by_repeat = scored_targets(target, folds)
        scored = target if np.isfinite(target).all() else by_repeat.mean(axis=0)
        scored_heads = scored if grouping == "head" else scored_heads
        baseline = {"layer": _error(by_repeat, layer_predictions(target, layer, folds))}
        baselines[grouping] = one_less(shares_of_spread(baseline, scored, judged, rule.level)["layer"])
        for preprocessing in rule.preprocessing:
            found = ridge_predictions(of, target, folds, preprocessing, rule.penalty_grid(), features)
            errors = {name: _error(by_repeat, one.prediction) for name, one in found.items()}
            spread = float(((scored - scored.mean()) ** 2).sum())
            differences = {name: errors[E] - errors[name] for name in errors if name not in (E, "BOS")}
            shares = shares_of_spread(errors, scored, judged, rule.level)
            gains = shares_of_spread(differences, scored, judged, rule.level)
            predictions = {name: found[fit].prediction.mean(axis=0) for name, fit in fitted_as.items()}
            settings[grouping, preprocessing] = Setting(
                families={
                    name: FamilyScore(
                        r2=one_less(shares[fit]),
                        top5_auroc=top_retrieval_auroc(predictions[name], scored),
                        prediction=predictions[name],
                        importance={
                            feature: rise / spread if spread else float("nan")
                            for feature, rise in found[fit].importance.items()
                        },
                    )
                    for name, fit in fitted_as.items()
                },
                gains=_gains(gains, own),
                gains_with_kreiss=_gains(gains, WITH_KREISS),
                gains_without_kreiss=_gains(gains, WITHOUT_KREISS),
                bos_mass_r2=one_less(shares["BOS"]),
            )
            if grouping == "head":
                published[preprocessing] = _gains(
                    shares_of_spread(differences, scored, over_heads, PUBLISHED_LEVEL), own
                )

    def decisive(grouping: str, of: Callable[[Setting], Gains]) -> Interval:
        return _smallest([of(settings[grouping, preprocessing]).larger() for preprocessing in rule.preprocessing])

    return ContestResult(
        heads=len(target),
        layers=len(np.unique(layer)),
        target_distinct_values=distinct_values(target),
        target=scored_heads,
        settings=settings,
        decisive_gain=decisive("head", lambda one: one.gains),
        decisive_gain_unseen_layers=decisive("layer", lambda one: one.gains),
        decisive_gain_with_kreiss=decisive("head", lambda one: one.gains_with_kreiss),
        decisive_gain_unseen_layers_with_kreiss=decisive("layer", lambda one: one.gains_with_kreiss),
        decisive_gain_without_kreiss=decisive("head", lambda one: one.gains_without_kreiss),
        decisive_gain_unseen_layers_without_kreiss=decisive("layer", lambda one: one.gains_without_kreiss),
        layer_baseline_r2=baselines,
        published=PublishedRule(published, all(gains.larger().low > 0 for gains in published.values())),
    )


def distinct_values(target: Shaped[np.ndarray, " heads"]) -> int:
    """How many values the target takes over heads; what a claim's `target_distinct_values` requires."""
    return len(np.unique(target))


def _gains(of: Mapping[str, Interval], variant: str) -> Gains:
    return Gains(of[P + variant], of[UNION + variant])


def _error(target: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Mean over repeats of (y_h − f_h)², per head."""
    return ((target - prediction) ** 2).mean(axis=0)


def _smallest(gains: list[Interval]) -> Interval:
    """The smallest value, lower end and upper end, each on its own."""
    return Interval(
        min(gain.value for gain in gains),
        min(gain.low for gain in gains),
        min(gain.high for gain in gains),
        max(gain.undefined for gain in gains),
    )


def _checked(columns: Mapping[str, np.ndarray], target: np.ndarray, layer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Target and layers as arrays, refused where they or a column are of another length or no numbers."""
    target, layer = np.asarray(target, dtype=np.float64), np.asarray(layer)
    shapes = {"target": target.shape, "layer": layer.shape} | {name: np.shape(v) for name, v in columns.items()}
    if target.ndim != 1 or len(set(shapes.values())) != 1:
        odd = {name: shape for name, shape in shapes.items() if shape != target.shape}
        raise InvalidSample(f"target has the shape {target.shape}, others {odd}; needed is one value a head")
    if len(wrong := np.flatnonzero(np.isnan(target) | (target == np.inf))):
        raise InvalidSample(f"target of head {wrong[0]} is {target[wrong[0]]}; needed is a finite number or −inf")
    return target, layer
