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

    group   `findings`, `theorems`, or `exploratory`: made under other conditions than the registered ones
    counts  by OUTCOMES, zeros included
    """

    group: str
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def what(self) -> str:
        """What the total counts, in a word."""
        return "exploratory" if self.group == "exploratory" else "registered"

    @property
    def sentence(self) -> str:
        """`21 registered = 10 supported + …`; no percentages."""
        parts = " + ".join(f"{count} {outcome}" for outcome, count in self.counts.items())
        return f"{self.total} {self.what} = {parts}"


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
    """Findings, then theorems, then what is exploratory. Groups without a pair are left out.

    A theorem is no finding, it guards the numerics; an exploratory verdict decides nothing.
    """
    groups: dict[str, dict[str, int]] = {
        name: dict.fromkeys(OUTCOMES, 0) for name in ("findings", "theorems", "exploratory")
    }
    exploratory = {line.pair for line in lines if line.exploratory}
    for pair, outcome in owed(lines, facts).items():
        group = "exploratory" if pair in exploratory else "theorems" if pair[0] in theorems else "findings"
        groups[group][outcome] += 1
    return tuple(Tally(name, counts) for name, counts in groups.items() if sum(counts.values()))
