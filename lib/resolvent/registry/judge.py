"""From metrics to a verdict: the only place where a frozen predicate meets a number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from resolvent.errors import ResolventError
from resolvent.registry.schema import Claim, Criterion

Verdict = Literal["supported", "refuted", "undecided", "inestimable", "not_applicable"]
RECORDABLE: tuple[Verdict, ...] = ("supported", "refuted", "undecided", "inestimable")


class MetricError(ResolventError):
    """A metric that is missing, NaN, of the wrong kind, or an interval that does not hold its value."""


@dataclass(frozen=True)
class CriterionResult:
    """One criterion, judged.

    name      the criterion's key in the claim
    metric    the metric's name
    says      the metric's exact words
    value     what the test reported
    low, high the interval's ends, None where the criterion has no interval
    support, refute   the frozen predicates in words (`low >= 0.6`)
    margin    signed distance of the compared number to the support threshold, positive = support holds
    holds     whether support holds
    refuted   whether refute holds (neither: undecided)
    """

    name: str
    metric: str
    says: str
    value: float
    low: float | None
    high: float | None
    support: str
    refute: str
    margin: float
    holds: bool
    refuted: bool


@dataclass(frozen=True)
class RequirementResult:
    """One requirement, judged. `value` is None where the metric was absent or NaN after an unmet requirement."""

    metric: str
    value: float | None
    predicate: str
    met: bool


@dataclass(frozen=True)
class Judgement:
    """The verdict of a claim on a subject, in plain Python types.

    metrics       every reported number; an interval as name, name.low, name.high, and name.undefined where it left
                  resamples out. NaNs are left out (they are only let through where a requirement is unmet)
    criteria      the criteria that apply, in order; empty where inestimable or not applicable
    requirements  all requirements, in order
    """

    claim: str
    subject: str
    verdict: Verdict
    metrics: Mapping[str, float]
    criteria: tuple[CriterionResult, ...] = ()
    requirements: tuple[RequirementResult, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A dict of plain types, JSON-able but for infinities; `from_json` reads it back."""
        return {
            "claim": self.claim,
            "subject": self.subject,
            "verdict": self.verdict,
            "metrics": dict(self.metrics),
            "criteria": [asdict(result) for result in self.criteria],
            "requirements": [asdict(result) for result in self.requirements],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Judgement:
        """The judgement of a dict made by `to_json`; further keys are left aside."""
        return cls(
            claim=data["claim"],
            subject=data["subject"],
            verdict=data["verdict"],
            metrics=dict(data["metrics"]),
            criteria=tuple(CriterionResult(**result) for result in data["criteria"]),
            requirements=tuple(RequirementResult(**result) for result in data["requirements"]),
        )


def judge(claim: Claim, subject: str, attributes: Mapping[str, object], metrics: Mapping[str, Any]) -> Judgement:
    """The verdict of `claim` on `subject`.

    attributes  the subject's declared attributes, for applies_to and when
    metrics     by name: a number, a true/false, or anything with value, low, high (statistics' Interval)

    Requirements come first, in order: one unmet makes the claim inestimable, and other metrics may then be absent or
    NaN. Raises MetricError for a requirement's metric that is absent or NaN with none unmet before it; and, with all
    met, for any NaN, for a metric that a criterion needs and the test never reports, and for a plain number where the
    criterion has an interval. Raises PredicateError for an attribute that the subject lacks.
    """
    where = f"{claim.claim} on {subject}"
    numbers = {name: _Number.of(where, name, metric) for name, metric in metrics.items()}
    if not claim.applicable(attributes):
        return Judgement(claim.claim, subject, "not_applicable", _flat(numbers))
    requirements = _requirements(claim, where, numbers)
    if not all(result.met for result in requirements):
        return Judgement(claim.claim, subject, "inestimable", _flat(numbers), requirements=requirements)
    applying = claim.criteria_for(attributes)
    left_out = {c.metric for c in claim.criteria.values()} - {c.metric for c in applying.values()}
    for name, number in numbers.items():
        if number.nan and name not in left_out:
            raise MetricError(f"{where}: the metric '{name}' is NaN ({number}); a metric must be a number here")
    criteria = tuple(_criterion(where, name, criterion, numbers) for name, criterion in applying.items())
    verdict: Verdict = "undecided"
    if any(result.refuted for result in criteria):
        verdict = "refuted"
    elif all(result.holds for result in criteria):
        verdict = "supported"
    return Judgement(claim.claim, subject, verdict, _flat(numbers), criteria, requirements)


def inestimable(claim: Claim, subject: str, metric: str, found: float, predicate_text: str) -> Judgement:
    """The judgement for evidence that can't be made: `found` of `metric` where `predicate_text` is needed."""
    number = _Number.of(f"{claim.claim} on {subject}", metric, found)
    result = RequirementResult(metric, number.value, predicate_text, False)
    return Judgement(claim.claim, subject, "inestimable", {metric: number.value}, requirements=(result,))


@dataclass(frozen=True)
class _Number:
    """A reported metric as plain floats."""

    value: float
    low: float | None = None
    high: float | None = None
    undefined: float | None = None  # resamples left out; None for none

    @classmethod
    def of(cls, where: str, name: str, metric: Any) -> _Number:
        if not isinstance(name, str) or not name.isidentifier():
            raise MetricError(f"{where}: the metric name {name!r} must be an identifier")
        if all(hasattr(metric, part) for part in ("value", "low", "high")):
            value, low, high = (_plain_float(where, name, getattr(metric, part)) for part in ("value", "low", "high"))
            return cls(value, low, high, _plain_float(where, name, getattr(metric, "undefined", 0)) or None)
        return cls(_plain_float(where, name, metric))

    @property
    def nan(self) -> bool:
        return any(part is not None and math.isnan(part) for part in (self.value, self.low, self.high))

    def __str__(self) -> str:
        return f"{self.value}" if self.low is None else f"{self.value} [{self.low}, {self.high}]"


def _plain_float(where: str, name: str, number: Any) -> float:
    if getattr(number, "shape", None) == () and hasattr(number, "item"):
        number = number.item()
    if isinstance(number, bool | int | float):
        return float(number)
    raise MetricError(
        f"{where}: the metric '{name}' is {type(number).__name__}; allowed: a number, true/false, or an interval"
    )


def _flat(numbers: Mapping[str, _Number]) -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, number in numbers.items():
        parts = {
            name: number.value,
            f"{name}.low": number.low,
            f"{name}.high": number.high,
            f"{name}.undefined": number.undefined,
        }
        flat.update({key: part for key, part in parts.items() if part is not None and not math.isnan(part)})
    return flat


def _requirements(claim: Claim, where: str, numbers: Mapping[str, _Number]) -> tuple[RequirementResult, ...]:
    results: list[RequirementResult] = []
    unmet = False
    for requirement in claim.requires:
        number = numbers.get(requirement.metric)
        usable = number is not None and not math.isnan(number.value)
        if not usable and not unmet:
            found = "is NaN" if number else "was not reported"
            raise MetricError(f"{where}: the required metric '{requirement.metric}' {found}")
        value = cast(_Number, number).value if usable else None
        met = value is not None and requirement.predicate.holds(value)
        unmet = unmet or not met
        results.append(RequirementResult(requirement.metric, value, str(requirement.predicate), met))
    return tuple(results)


def _criterion(where: str, name: str, criterion: Criterion, numbers: Mapping[str, _Number]) -> CriterionResult:
    number = numbers.get(criterion.metric)
    if number is None:
        raise MetricError(
            f"{where}: the metric '{criterion.metric}' of the criterion '{name}' was not reported; "
            f"reported: {', '.join(sorted(numbers)) or 'none'}"
        )
    low = high = None
    if criterion.interval is not None:
        low, high = number.low, number.high
        if low is None or high is None:
            raise MetricError(
                f"{where}: the criterion '{name}' has an interval, but '{criterion.metric}' is the number {number}"
            )
        if not low <= number.value <= high:
            raise MetricError(f"{where}: the metric '{criterion.metric}' lies outside its interval: {number}")
    return CriterionResult(
        name=name,
        metric=criterion.metric,
        says=criterion.says.strip(),
        value=number.value,
        low=low,
        high=high,
        support=str(criterion.support),
        refute=str(criterion.refute),
        margin=criterion.support.margin(number.value, low, high),
        holds=criterion.support.holds(number.value, low, high),
        refuted=criterion.refute.holds(number.value, low, high),
    )
