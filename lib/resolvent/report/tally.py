"""The equation at the head of a report: registered = supported + refuted + … + errors + missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resolvent.report.verdict_line import VerdictLine

Pair = tuple[str, str]

OUTCOMES = ("supported", "refuted", "undecided", "inestimable", "errors", "missing")


@dataclass(frozen=True)
class Tally:
    """Claims × subjects of one group.

    group   `findings` or `theorems`
    counts  by OUTCOMES, zeros included
    """

    group: str
    counts: Mapping[str, int]

    @property
    def registered(self) -> int:
        return sum(self.counts.values())

    @property
    def sentence(self) -> str:
        """`21 registered = 10 supported + …`; no percentages."""
        parts = " + ".join(f"{count} {outcome}" for outcome, count in self.counts.items())
        return f"{self.registered} registered = {parts}"


def owed(lines: Sequence[VerdictLine], facts: Mapping[str, Any]) -> dict[Pair, str]:
    """Every pair that the run owed a verdict -> the outcome it is counted under.

    A run that ended before it could say what it owed counts what it judged.
    """
    judged = {line.pair: line.judgement.verdict for line in lines}
    expected = [tuple(pair) for pair in facts.get("expected", [])]
    incomplete = [tuple(pair) for pair in facts.get("incomplete", [])]
    errors = {tuple(pair) for pair in [*facts.get("errors", []), *facts.get("conflicts", [])]}
    drafts = set(facts.get("drafts", []))
    found: dict[Pair, str] = {}
    for pair in [*expected, *incomplete, *judged]:
        if pair[0] in drafts or judged.get(pair) == "not_applicable":
            continue
        found[pair] = "errors" if pair in errors else judged.get(pair, "missing")
    return found


def tallies(lines: Sequence[VerdictLine], facts: Mapping[str, Any], theorems: set[str]) -> tuple[Tally, ...]:
    """Findings, then theorems: a theorem is no finding, it guards the numerics. Groups without a pair are left out."""
    groups: dict[str, dict[str, int]] = {name: dict.fromkeys(OUTCOMES, 0) for name in ("findings", "theorems")}
    for (claim, _), outcome in owed(lines, facts).items():
        groups["theorems" if claim in theorems else "findings"][outcome] += 1
    return tuple(Tally(name, counts) for name, counts in groups.items() if sum(counts.values()))
