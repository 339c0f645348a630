"""Verdict lines with sane defaults."""

from resolvent.registry import CriterionResult, Judgement, RequirementResult
from resolvent.report.verdict_line import VerdictLine


def criterion(**changes):
    """A criterion that supports."""
    fields = {
        "name": "large",
        "metric": "size",
        "says": "the size",
        "value": 0.9,
        "low": None,
        "high": None,
        "support": ">= 0.5",
        "refute": "< 0.3",
        "margin": 0.4,
        "holds": True,
        "refuted": False,
    }
    return CriterionResult(**{**fields, **changes})


def verdict_line(
    verdict="supported",
    *,
    claim="good",
    subject="ada",
    criteria=None,
    requirements=(),
    metrics=None,
    recorded=None,
    kind="confirmatory",
    seen=False,
    exploratory=(),
):
    """A line as a run records it."""
    judgement = Judgement(
        claim=claim,
        subject=subject,
        verdict=verdict,
        metrics=metrics or {"size": 0.9},
        criteria=(criterion(),) if criteria is None else tuple(criteria),
        requirements=tuple(requirements),
    )
    return VerdictLine(
        judgement=judgement,
        recorded=recorded,
        kind=kind,
        title="The size is large",
        seen=seen,
        exploratory=tuple(exploratory),
    )


def unmet(metric="heads", value=1.0, predicate=">= 2"):
    """An unmet requirement."""
    return RequirementResult(metric=metric, value=value, predicate=predicate, met=False)
