"""A verdict as a plain-text table: the message of a claim test that does not simply pass."""

from __future__ import annotations

import textwrap

from resolvent.registry import CriterionResult
from resolvent.report.numbers import number, signed, with_interval
from resolvent.report.verdict_line import VerdictLine


def criteria_table(line: VerdictLine, *, width: int | None = None) -> str:
    """Headline, then a row a criterion (or requirement): value [interval], predicates, margin.

    width  of the terminal; where the rows are wider, a criterion has several lines
    """
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
    table = _columns(rows)
    if width is not None and max(map(len, table), default=0) > width:
        table = _stacked(rows, width)
    return "\n".join([headline(line), line.title, *table])


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


def _stacked(rows: list[tuple[str, ...]], width: int) -> list[str]:
    """A paragraph a row: its name, then each further cell after its column's name."""
    head = ("criterion", "metric", "value", "support", "refute", "margin", "holds")
    lines = []
    for row in rows:
        if row == head:
            continue
        cells = [f"{name} {cell}".strip() for name, cell in zip(head, row, strict=True) if cell]
        text = ", ".join([cells[0].removeprefix("criterion "), *cells[1:]])
        lines += textwrap.wrap(
            text,
            max(width - 1, 20),
            initial_indent="  ",
            subsequent_indent="      ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def further_metrics(line: VerdictLine) -> list[tuple[str, str]]:
    """(metric, value) measured without a criterion, an interval as one; and how much any interval left out."""
    judgement = line.judgement
    used = {result.metric for result in judgement.criteria} | {result.metric for result in judgement.requirements}
    found = []
    for name, value in judgement.metrics.items():
        metric, _, part = name.partition(".")
        if part in ("low", "high") or (metric in used and part != "undefined"):
            continue
        ends = judgement.metrics.get(f"{name}.low"), judgement.metrics.get(f"{name}.high")
        found.append((name, with_interval(value, *ends)))
    return found
