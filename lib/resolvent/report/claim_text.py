"""A claim on a terminal: hypothesis, criteria, what was published, what is recorded."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from resolvent.registry import Claim, Ledger, Outcome, amendments, published, recorded
from resolvent.report.numbers import number, with_interval
from resolvent.report.rerun import claim_tests, rerun_command
from resolvent.report.subject_words import law_words, what

if TYPE_CHECKING:
    from resolvent.models.subjects import StudySubjects
    from resolvent.study import Study

_WIDTH = 100


def claim_text(study: Study, subjects: StudySubjects, claim: Claim, law: Mapping[str, Mapping[str, float]]) -> str:
    """Everything that is written down of a claim, and nothing that is computed.

    law  by subject, the numbers of `law_numbers` in some run; a subject that is not in it gets no such line
    """
    return "\n".join(
        [
            claim.title,
            f"{claim.name}  [{_standing(study, claim)}]  {claim.kind.replace('_', ' ')}, source {claim.source.paper}",
            *_part("Hypothesis", [claim.hypothesis]),
            *_part("Known before freezing", [claim.prior_knowledge]),
            *_part("Applies to", [_applies(claim)]),
            *_part("Protocol", [", ".join(f"{key} {json.dumps(value)}" for key, value in claim.protocol.items())]),
            *_part("Requires", [f"{requirement.metric} {requirement.predicate}" for requirement in claim.requires]),
            *_criteria(claim),
            *_part("Published (decides nothing)", list(_published(study, claim))),
            *_recorded(study, subjects, claim, law),
            *_part("Amendments", list(_amendments(study, claim))),
        ]
    )


def _standing(study: Study, claim: Claim) -> str:
    """Whether it is frozen, since when, under which hash."""
    ledger = Ledger.load(study)
    sha256 = ledger.sha256(f"claim:{claim.name}")
    if sha256 is None:
        return "unregistered draft"
    amended = len(ledger.amended(claim.name))
    return f"registered {sha256[:12]}" + (f", amended {amended} times: post hoc" if amended else "")


def _applies(claim: Claim) -> str:
    conditions = ", ".join(f"{name} {condition}" for name, condition in claim.applies_to.items())
    return f"subjects with {conditions}" if conditions else "every subject"


def _criteria(claim: Claim) -> list[str]:
    lines = []
    for name, criterion in claim.criteria.items():
        when = ", ".join(f"{key} {condition}" for key, condition in criterion.when.items())
        lines.append(f"{name}{f' (where {when})' if when else ''}: {criterion.says}")
        lines.append(f"    {criterion.metric}: supports if {criterion.support}, refutes if {criterion.refute}")
    return _part("Criteria (supported: all support; refuted: any refutes; else undecided)", lines)


def _published(study: Study, claim: Claim) -> Iterator[str]:
    for entry in published(study, claim.name):
        value = number(entry.value) if entry.value is not None else ""
        if entry.low is not None or entry.high is not None:
            value = f"{value} [{number(entry.low)}, {number(entry.high)}]".strip()
        verdict = f" ({entry.verdict})" if entry.verdict else ""
        words = " ".join(filter(None, (value, entry.words)))
        yield f"{entry.subject or 'all models'}, {entry.where}: {entry.says}: {words}{verdict}"


def _recorded(study: Study, subjects: StudySubjects, claim: Claim, law: Mapping[str, Mapping[str, float]]) -> list[str]:
    lines = []
    for (name, subject), outcome in recorded(study).items():
        if name != claim.name:
            continue
        known = subjects.subjects.get(subject)
        blind = "" if claim.blind(subject) else ", not blind: its data were looked at before freezing"
        lines.append(f"{subject} ({what(known) if known else 'no longer a subject'}{blind}): {outcome.verdict}")
        lines.append(f"    on {outcome.date}, from run {outcome.run}: {_metrics(outcome)}")
        if subject in law:
            lines.append(f"    {law_words(law[subject])}")
        lines.append(f"    {rerun_command(claim_tests(study.root / 'claims'), name, subject)}")
    return _part("Recorded outcomes", lines or ["none yet"])


def _metrics(outcome: Outcome) -> str:
    metrics = outcome.metrics
    names = [name for name in metrics if "." not in name]
    shown = (
        f"{name} = {with_interval(metrics[name], metrics.get(f'{name}.low'), metrics.get(f'{name}.high'))}"
        for name in names
    )
    return ", ".join(shown)


def _amendments(study: Study, claim: Claim) -> Iterator[str]:
    for amendment in amendments(study, claim.name):
        before = ", ".join(f"{subject}: {outcome.verdict}" for subject, outcome in amendment.outcomes.items())
        yield f"{amendment.date}: {amendment.reason}; verdicts before: {before or 'none'}"


def _part(title: str, lines: list[str]) -> list[str]:
    """A heading and indented lines; nothing where there is no line."""
    if not lines:
        return []
    found = ["", title]
    for line in lines:
        indent = "  " + " " * (len(line) - len(line.lstrip()))
        text = " ".join(line.split())
        found += textwrap.wrap(
            text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
        )
    return found
