"""The numbers of a contest by the names under which a claim's test reports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from resolvent.statistics.contest.decisive import UNION, E, P
from resolvent.statistics.contest.rule import GROUPINGS, PREPROCESSINGS

if TYPE_CHECKING:
    from resolvent.statistics.contest.decisive import ContestResult, Gains
    from resolvent.statistics.interval import Interval

FAMILY_WORDS = {E: "e", P: "p", UNION: "union"}
"""A family within a metric's name."""

GROUPING_SUFFIXES = {"head": "", "layer": "_unseen_layers"}
"""What the name of a metric on folds grouped by head, or by layer, ends in."""


def reported_metrics(result: ContestResult) -> dict[str, float | Interval]:
    """Every number of a contest, by name; PREP is standardised or rank_normal, FAMILY one of FAMILY_WORDS.

    decisive_gain, decisive_gain_unseen_layers   by the claim's rule; and the two with `_with_kreiss` or
                                         `_without_kreiss` behind the name: K_dev and its excess in P, or not
    r2_FAMILY_PREP                       pooled R²
    gain_p_over_e_PREP, gain_union_over_e_PREP   R²(P) − R²(E), R²(E∪P) − R²(E)
    top5_auroc_FAMILY_PREP               retrieval of the five heads of the largest target
    bos_mass_r2_PREP                     R² of the BOS mass alone
    layer_baseline_r2                    R² of the layer's mean target: is it just depth?

    From r2 on once more with `_unseen_layers` behind the name, from folds grouped by layer. On unseen heads only:

    published_supported                  1 where the paper's own rule declares support, else 0
    published_gain_PREP                  what it looks at: the larger of the two gains, 95 % over heads
    gain_…_PREP_with_kreiss, …_without_kreiss   the two gains with K_dev and its excess in P, or not
    importance_FEATURE_PREP              drop of R²(E∪P) when the feature is permuted within test folds
    """
    metrics: dict[str, float | Interval] = {
        "decisive_gain": result.decisive_gain,
        "decisive_gain_unseen_layers": result.decisive_gain_unseen_layers,
        "decisive_gain_with_kreiss": result.decisive_gain_with_kreiss,
        "decisive_gain_unseen_layers_with_kreiss": result.decisive_gain_unseen_layers_with_kreiss,
        "decisive_gain_without_kreiss": result.decisive_gain_without_kreiss,
        "decisive_gain_unseen_layers_without_kreiss": result.decisive_gain_unseen_layers_without_kreiss,
        "published_supported": float(result.published.supported),
    }
    for preprocessing, gains in result.published.gains.items():
        metrics[f"published_gain_{preprocessing}"] = gains.larger()
    for grouping in GROUPINGS:
        suffix = GROUPING_SUFFIXES[grouping]
        metrics[f"layer_baseline_r2{suffix}"] = result.layer_baseline_r2[grouping]
        for (found, preprocessing), setting in result.settings.items():
            if found != grouping:
                continue
            for family, score in setting.families.items():
                metrics[f"r2_{FAMILY_WORDS[family]}_{preprocessing}{suffix}"] = score.r2
                metrics[f"top5_auroc_{FAMILY_WORDS[family]}_{preprocessing}{suffix}"] = score.top5_auroc
            metrics |= {f"{name}_{preprocessing}{suffix}": gain for name, gain in _named(setting.gains).items()}
            metrics[f"bos_mass_r2_{preprocessing}{suffix}"] = setting.bos_mass_r2
    for (grouping, preprocessing), setting in result.settings.items():
        if grouping == "head":
            for variant, gains in (("with", setting.gains_with_kreiss), ("without", setting.gains_without_kreiss)):
                metrics |= {f"{name}_{preprocessing}_{variant}_kreiss": gain for name, gain in _named(gains).items()}
            for feature, drop in setting.families[UNION].importance.items():
                metrics[f"importance_{feature.replace('-', '_')}_{preprocessing}"] = drop
    return metrics


def winner(metrics: Mapping[str, float | Interval]) -> str | None:
    """The family of the largest R² on unseen heads, the smaller over the preprocessings counted; None without any.

    metrics  as `reported_metrics` names them, or as a run's file has them
    """
    scores: dict[str, float] = {}
    for family, word in FAMILY_WORDS.items():
        names = [f"r2_{word}_{preprocessing}" for preprocessing in PREPROCESSINGS]
        found = [metrics[name] for name in names if name in metrics]
        if found:
            scores[family] = min(one if isinstance(one, int | float) else one.value for one in found)
    return max(scores, key=lambda family: scores[family]) if scores else None


def _named(gains: Gains) -> dict[str, Interval]:
    return {"gain_p_over_e": gains.p_over_e, "gain_union_over_e": gains.union_over_e}
