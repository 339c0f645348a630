"""Whether every registered claim × subject of the cohort got its verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

Pair = tuple[str, str]

_TEST = re.compile(r"^def test_(\w+)\s*\(", re.MULTILINE)
_NODE = re.compile(r"::test_(\w+)\[([^\]]+)\]$")


@dataclass(frozen=True)
class Completeness:
    """The gate's findings, each sorted.

    untested     expected pairs whose claim has no test; counted in a full run only
    unselected   expected pairs that have a test which this run did not select
    not_run      selected pairs that never reported (-x, an interrupted run)
    unjudged     selected pairs that ended without a verdict
    """

    untested: tuple[Pair, ...]
    unselected: tuple[Pair, ...]
    not_run: tuple[Pair, ...]
    unjudged: tuple[Pair, ...]

    @property
    def partial(self) -> bool:
        """Whether the run looked at a part of the study only."""
        return bool(self.unselected or self.not_run)

    @property
    def incomplete(self) -> tuple[Pair, ...]:
        """The pairs that fail the run."""
        missing = {*self.not_run, *self.unjudged}
        if not self.partial:
            missing |= set(self.untested)
        return tuple(sorted(missing))


def completeness(
    expected: Iterable[Pair],
    selected: Iterable[Pair],
    reported: Iterable[Pair],
    judged: Iterable[Pair],
    tested: set[str],
) -> Completeness:
    """Compares the pairs a full run owes with what happened; `tested` are the claims that have a test."""
    expected, selected, reported, judged = set(expected), set(selected), set(reported), set(judged)
    missing = expected - selected
    return Completeness(
        untested=tuple(sorted(pair for pair in missing if pair[0] not in tested)),
        unselected=tuple(sorted(pair for pair in missing if pair[0] in tested)),
        not_run=tuple(sorted(selected - reported - judged)),
        unjudged=tuple(sorted((selected & reported) - judged)),
    )


def tested_claims(folder: Path) -> set[str]:
    """The claims that have a test function in the claims folder, read from its text: nothing is imported."""
    return {name for file in folder.rglob("test_*.py") for name in _TEST.findall(file.read_text(encoding="utf-8"))}


def pair_of(node_id: str) -> Pair | None:
    """Claim and subject of a claim item's node id; None for any other item."""
    match = _NODE.search(node_id)
    return (match[1], match[2]) if match and not node_id.startswith("evidence::") else None
