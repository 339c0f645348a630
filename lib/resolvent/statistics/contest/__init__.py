"""The decisive contest between feature families, on plain arrays of one value a head.

Begin reading in `features` (what each family holds) and `decisive` (the contest as a whole); `rule` is a claim's
protocol, `folds`, `preprocessing`, `ridge` and `out_of_fold` make the predictions, `paired_bootstrap` their intervals,
`reported` names the numbers.
May import errors, keyed_random and statistics.
"""

from resolvent.statistics.contest.decisive import (
    FAMILIES,
    PUBLISHED_LEVEL,
    ContestResult,
    FamilyScore,
    Gains,
    PublishedRule,
    Setting,
    contest,
    distinct_values,
)
from resolvent.statistics.contest.features import (
    ADDITIONS,
    BATTERY_COLUMNS,
    NULL_COLUMNS,
    RESOLVENT,
    SHORT_POWERS,
    SPECTRAL_AND_CLASSICAL,
    SURVIVAL,
    SURVIVAL_POWERS,
    SURVIVAL_SHORT,
    WEIGHT_NON_NORMAL,
    WEIGHT_SPECTRAL,
    Families,
    MissingFeature,
    attention_features,
    families,
    survival_features,
    survival_short_features,
)
from resolvent.statistics.contest.folds import LeakingFold, TooFewHeads, labels_needed
from resolvent.statistics.contest.reported import FAMILY_WORDS, GROUPING_SUFFIXES, reported_metrics, winner
from resolvent.statistics.contest.rule import TARGETS, ContestGenerators, ContestRule, InvalidRule

__all__ = [
    "ADDITIONS",
    "BATTERY_COLUMNS",
    "FAMILIES",
    "FAMILY_WORDS",
    "GROUPING_SUFFIXES",
    "NULL_COLUMNS",
    "PUBLISHED_LEVEL",
    "RESOLVENT",
    "SHORT_POWERS",
    "SPECTRAL_AND_CLASSICAL",
    "SURVIVAL",
    "SURVIVAL_POWERS",
    "SURVIVAL_SHORT",
    "TARGETS",
    "WEIGHT_NON_NORMAL",
    "WEIGHT_SPECTRAL",
    "ContestGenerators",
    "ContestResult",
    "ContestRule",
    "Families",
    "FamilyScore",
    "Gains",
    "InvalidRule",
    "LeakingFold",
    "MissingFeature",
    "PublishedRule",
    "Setting",
    "TooFewHeads",
    "attention_features",
    "contest",
    "distinct_values",
    "families",
    "labels_needed",
    "reported_metrics",
    "survival_features",
    "survival_short_features",
    "winner",
]
