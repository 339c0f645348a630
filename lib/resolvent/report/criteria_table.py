"""A verdict as a plain-text table: the message of a claim test that does not simply pass."""

from __future__ import annotations

from resolvent.registry import CriterionResult
from resolvent.report.numbers import number, signed, with_interval
from resolvent.report.verdict_line import VerdictLine


def criteria_table(line: VerdictLine) -> str:
    """Headline, then a row a criterion (or requirement): value [interval], predicates, margin."""
    rows: list[tuple[str, ...]] = []
    if line.judgement.criteria:
        rows.append(("criterion", "metric", "value", "support", "refute", "margin", "holds"))
    for result in line.judgement.criteria:
        value, margin = with_interval(result.value, result.low, result.high), signed(result.margin)
        rows.append((result.name, result.metric, value, result.support, result.refute, margin, side(result)))
    for requirement in line.judgement.requirements:
        if not requirement.met:
            value = number(requirement.value)
            rows.append(("requires", requirement.metric, value, requirement.predicate, "", "", "unmet"))
    return "\n".join([headline(line), line.title, *_columns(rows)])


def headline(line: VerdictLine) -> str:
    """One line: word, claim, subject, and what decided."""
    claim, subject = line.pair
    text = f"{line.shown.word}: {claim} on {subject}"
    if line.shown.word == "FLIPPED":
        text += f": {line.judgement.verdict}, recorded as {line.recorded}"
    decisive = [f"{result.metric} = {number(result.value)}" for result in deciding(line)]
    unmet = [
        f"{requirement.metric} = {number(requirement.value)}, needs {requirement.predicate}"
        for requirement in line.judgement.requirements
        if not requirement.met
    ]
    detail = ", ".join(decisive + unmet)
    return f"{text} ({detail})" if detail else text


def deciding(line: VerdictLine) -> list[CriterionResult]:
    """The criteria that kept the claim from being supported: the refuting ones, else those without support."""
    refuting = [result for result in line.judgement.criteria if result.refuted]
    return refuting or [result for result in line.judgement.criteria if not result.holds]


def side(result: CriterionResult) -> str:
    """Which predicate holds, in a word."""
    if result.holds:
        return "support"
    return "refute" if result.refuted else "neither"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
