"""The claim schema: one frozen, typed claim a YAML file in prereg/."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from resolvent.registry.predicates import Condition, Predicate, all_hold, can_both_hold
from resolvent.registry.protocol import protocol_problems
from resolvent.registry.typed import SchemaError, typed
from resolvent.strict_yaml import read_yaml
from resolvent.study import Study

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
Place = int | float | str


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the claim comes from: paper and, optionally, where in it.

    extends  the paper that a claim of our own builds on
    """

    paper: Text
    section: Place | None = None
    table: Place | None = None
    figure: Place | None = None
    appendix: Place | None = None
    extends: Text | None = None
    note: Text | None = None


class IntervalRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the interval of a metric is made; `over` names what is resampled (where both, the wider counts)."""

    method: Literal["bootstrap", "paired_bootstrap", "clopper_pearson"]
    over: Literal["heads", "layers"] | tuple[Literal["heads", "layers"], ...]
    level: float
    draws: int | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """`over` as a tuple."""
        return (self.over,) if isinstance(self.over, str) else self.over


class Criterion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a claim.

    says      the metric's exact words
    metric    the name under which the test reports it
    support, refute   predicates that no low <= value <= high satisfies both
    interval  the test must report (value, low, high), made by this rule (`protocol`: the claim's protocol.interval)
    when      the subjects it is limited to
    """

    says: Text
    metric: Name
    support: Predicate
    refute: Predicate
    interval: IntervalRule | Literal["protocol"] | None = None
    when: dict[str, Condition] = {}


class Requirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must hold before the criteria are looked at; else the claim is inestimable."""

    metric: Name
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    between: tuple[float, float] | None = None
    equals: float | None = None

    @property
    def predicate(self) -> Predicate:
        """The comparisons without the metric."""
        return Predicate(
            above=self.above,
            at_least=self.at_least,
            below=self.below,
            at_most=self.at_most,
            between=self.between,
            equals=self.equals,
        )


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pre-registered claim; the fields are the keys of its file, and `criteria` keeps their order.

    kind   confirmatory, post_hoc, exploratory, theorem: tallied apart
    seen   subjects whose data were looked at before freezing: their verdicts are not blind
    applies_to   absent: every subject
    verdict      `all`: supported where every criterion's support holds, refuted where any refute does, else undecided
    """

    claim: Name
    title: Text
    source: Source
    registered: datetime.date
    kind: Literal["confirmatory", "post_hoc", "exploratory", "theorem"]
    prior_knowledge: Text
    hypothesis: Text
    protocol: dict[str, Any]
    criteria: Annotated[dict[str, Criterion], msgspec.Meta(min_length=1)]
    verdict: Literal["all"]
    seen: tuple[Text, ...] = ()
    applies_to: dict[str, Condition] = {}
    requires: tuple[Requirement, ...] = ()

    @property
    def name(self) -> str:
        """The claim's name, which is also that of its file and its test."""
        return self.claim

    def blind(self, subject: str) -> bool:
        """Whether nobody had looked at the subject's data when the claim was frozen."""
        return subject not in self.seen

    def applicable(self, attributes: Mapping[str, object]) -> bool:
        """Whether a subject with these attributes is judged: inside applies_to, and some criterion applies to it.

        Raises PredicateError for an attribute that the subject lacks.
        """
        inside = all_hold(self.applies_to, attributes, where=f"{self.claim}: applies_to")
        return inside and bool(self.criteria_for(attributes))

    def criteria_for(self, attributes: Mapping[str, object]) -> dict[str, Criterion]:
        """The criteria that apply to a subject with these attributes, in order."""
        return {
            name: criterion
            for name, criterion in self.criteria.items()
            if all_hold(criterion.when, attributes, where=f"{self.claim}: criteria.{name}.when")
        }

    def interval_rule(self, metric: str) -> IntervalRule | None:
        """The rule for the interval of a metric, or None where no criterion asks for one.

        Raises SchemaError for a metric that is in no criterion.
        """
        rules = [criterion.interval for criterion in self.criteria.values() if criterion.metric == metric]
        if not rules:
            known = ", ".join(sorted({criterion.metric for criterion in self.criteria.values()}))
            raise SchemaError(f"{self.claim}: no criterion has the metric '{metric}'; the claim has {known}")
        rule = next((rule for rule in rules if rule is not None), None)
        if rule == "protocol":
            return typed(self.protocol["interval"], IntervalRule, file=f"{self.claim}.yaml", path="protocol.interval")
        return rule


def load_claim(path: Path, *, name: str | None = None) -> Claim:
    """The claim of a YAML file.

    name  of the claim that the file must hold; None: that of the file
    Raises YamlError and SchemaError, which name file, key, what was found and what is allowed: also for a name other
    than the file's, and for criteria whose support and refute could hold at once.
    """
    claim = typed(read_yaml(path), Claim, file=str(path))
    if claim.claim != (name or path.stem):
        why = "the claim to be replaced" if name else "the name of the file"
        raise SchemaError(f"{path}: claim: found '{claim.claim}'; allowed: '{name or path.stem}', {why}")
    for where, problem in _problems(claim):
        raise SchemaError(f"{path}: {where}: {problem}")
    return claim


def load_claims(study: Study) -> dict[str, Claim]:
    """Every claim of prereg/, registered or draft, by name in alphabetical order."""
    paths = sorted(path for path in study.prereg.glob("*.yaml") if path != study.subjects_file)
    return {path.stem: load_claim(path) for path in paths}


def check_protocol(
    claim: Claim, allowed_keys: set[str] | frozenset[str], null_kinds: set[str] | frozenset[str] | None = None
) -> None:
    """Raises SchemaError where the protocol has a key that no stage of the claim declares, or nulls that it can't have.

    null_kinds  the kinds of null that `nulls` may name; None: any
    """
    for key in claim.protocol:
        if key not in allowed_keys:
            allowed = ", ".join(sorted(allowed_keys))
            raise SchemaError(f"prereg/{claim.claim}.yaml: protocol: unknown key '{key}'; allowed: {allowed}")
    for kind in claim.protocol.get("nulls", {}) if null_kinds is not None else ():
        if kind not in (null_kinds or ()):
            allowed = ", ".join(sorted(null_kinds or ()))
            raise SchemaError(f"prereg/{claim.claim}.yaml: protocol.nulls: unknown null '{kind}'; allowed: {allowed}")


def _problems(claim: Claim) -> list[tuple[str, str]]:
    """(key, what is wrong) for everything that types alone don't catch."""
    found: list[tuple[str, str | None]] = []
    for attribute, condition in claim.applies_to.items():
        found.append((f"applies_to.{attribute}", condition.check(attribute)))
    rules: dict[str, object] = {}
    for name, criterion in claim.criteria.items():
        where = f"criteria.{name}"
        if not name.isidentifier():
            found.append((where, f"found the name '{name}'; allowed: letters, digits and _"))
        found.append((f"{where}.support", criterion.support.check()))
        found.append((f"{where}.refute", criterion.refute.check()))
        for attribute, condition in criterion.when.items():
            found.append((f"{where}.when.{attribute}", condition.check(attribute)))
        if criterion.interval is None:
            for side, predicate in (("support", criterion.support), ("refute", criterion.refute)):
                if predicate.bound:
                    found.append((f"{where}.{side}", "bound: the criterion has no interval"))
        else:
            found += _interval_problems(claim, where, criterion)
            other = rules.setdefault(criterion.metric, criterion.interval)
            if other != criterion.interval:
                found.append((f"{where}.interval", f"another criterion has another interval for '{criterion.metric}'"))
        if can_both_hold(criterion.support, criterion.refute):
            found.append((where, f"support '{criterion.support}' and refute '{criterion.refute}' can hold at once"))
    for index, requirement in enumerate(claim.requires):
        found.append((f"requires[{index}]", requirement.predicate.check()))
    found += protocol_problems(claim.protocol)
    return [(where, problem) for where, problem in found if problem]


def _interval_problems(claim: Claim, where: str, criterion: Criterion) -> list[tuple[str, str | None]]:
    rule: Any = criterion.interval
    where = f"{where}.interval"
    if rule == "protocol":
        if "interval" not in claim.protocol:
            return [(where, "found 'protocol', but the protocol has no interval")]
        where = "protocol.interval"
        rule = typed(claim.protocol["interval"], IntervalRule, file=f"{claim.claim}.yaml", path=where)
    problems: list[tuple[str, str | None]] = []
    if not rule.groups:
        problems.append((f"{where}.over", "found nothing; allowed: heads, layers"))
    if not (math.isfinite(rule.level) and 0 < rule.level < 1):
        problems.append((f"{where}.level", f"found {rule.level}; allowed: between 0 and 1"))
    if rule.method == "clopper_pearson":
        if rule.draws is not None:
            problems.append((f"{where}.draws", "clopper_pearson draws nothing"))
    elif rule.draws is None or rule.draws < 1:
        problems.append((f"{where}.draws", f"found {rule.draws}; allowed: a whole number from 1"))
    return problems
