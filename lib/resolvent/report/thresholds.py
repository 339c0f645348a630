"""How near a criterion comes to one of its thresholds: what a reader must know before trusting a verdict."""

from __future__ import annotations

from resolvent.registry import CriterionResult, Predicate
from resolvent.registry.predicates import number_text

NEAR_SHARE = 0.1
"""Without an interval, a distance below this share of the threshold counts as near."""


def predicates(result: CriterionResult) -> tuple[Predicate, Predicate]:
    """The support and the refute predicate that the run compared with."""
    return Predicate.from_text(result.support), Predicate.from_text(result.refute)


def near(result: CriterionResult) -> str:
    """Why the criterion is near a threshold, in words; empty where it is not.

    With an interval: a threshold lies inside it. Without: the value is within NEAR_SHARE of a threshold.
    """
    for threshold in sorted({number for predicate in predicates(result) for number in predicate.thresholds}):
        if result.low is not None and result.high is not None:
            if result.low <= threshold <= result.high:
                return f"the threshold {number_text(threshold)} lies inside the interval"
        elif abs(result.value - threshold) < NEAR_SHARE * abs(threshold):
            return f"less than {NEAR_SHARE:.0%} from the threshold {number_text(threshold)}"
    return ""
