"""What changed between two runs, or between two models of them: verdicts, values, protocol, code, versions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resolvent.errors import ResolventError
from resolvent.report.criteria_table import side
from resolvent.report.run_folder import FinishedRun
from resolvent.report.verdict_line import VerdictLine

ABSENT = "absent"


@dataclass(frozen=True)
class VerdictChange:
    """One claim in both runs.

    subjects       its subject in the first and in the second run
    before, after  verdicts, `absent` where a run has none
    """

    claim: str
    subjects: tuple[str, str]
    before: str
    after: str

    @property
    def flipped(self) -> bool:
        """Whether both runs judged, and differently."""
        return ABSENT not in (self.before, self.after) and self.before != self.after


@dataclass(frozen=True)
class ValueChange:
    """A metric whose number differs; None where a run did not report it.

    sides  by criterion that uses it and whose side differs: (criterion, before, after)
    """

    claim: str
    subjects: tuple[str, str]
    metric: str
    before: float | None
    after: float | None
    sides: tuple[tuple[str, str, str], ...] = ()

    @property
    def difference(self) -> float | None:
        """after - before, None where one is missing or both are the same infinity."""
        if self.before is None or self.after is None:
            return None
        difference = self.after - self.before
        return None if math.isnan(difference) else difference


@dataclass(frozen=True)
class FactChange:
    """Something that the runs were made under and that differs, in words."""

    group: str
    what: str
    before: str
    after: str


@dataclass(frozen=True)
class Comparison:
    """All of it, each in the order of claims; `same` counts the claims whose verdict and numbers are equal."""

    first: FinishedRun
    second: FinishedRun
    verdicts: tuple[VerdictChange, ...]
    values: tuple[ValueChange, ...]
    facts: tuple[FactChange, ...]

    @property
    def flips(self) -> tuple[VerdictChange, ...]:
        return tuple(change for change in self.verdicts if change.flipped)

    @property
    def one_sided(self) -> tuple[VerdictChange, ...]:
        """What only one of the runs judged."""
        return tuple(change for change in self.verdicts if ABSENT in (change.before, change.after))

    @property
    def sentence(self) -> str:
        """`21 claims compared: 1 flip, 4 values differ, 0 in one run only`."""
        compared = len(self.verdicts) - len(self.one_sided)
        flips = f"{len(self.flips)} flip{'' if len(self.flips) == 1 else 's'}"
        return (
            f"{compared} verdicts compared: {flips}; {len(self.values)} values differ; "
            f"{len(self.one_sided)} judged in one run only"
        )


def compare_runs(first: FinishedRun, second: FinishedRun, subjects: tuple[str, str] | None = None) -> Comparison:
    """The comparison of two runs.

    subjects  a subject of the first and one of the second run, to compare two models; None: each subject with itself,
              or, where the runs share none and each has one, these two
    Raises ResolventError for a subject that a run lacks, and where nothing can be paired.
    """
    pairs = list(_pairs(first, second, subjects))
    values = [change for claim, names, a, b in pairs if a and b for change in _values(claim, names, a, b)]
    return Comparison(
        first=first,
        second=second,
        verdicts=tuple(VerdictChange(claim, names, _verdict(a), _verdict(b)) for claim, names, a, b in pairs),
        values=tuple(values),
        facts=tuple(_facts(first.provenance, second.provenance)),
    )


def _pairs(
    first: FinishedRun, second: FinishedRun, subjects: tuple[str, str] | None
) -> Iterator[tuple[str, tuple[str, str], VerdictLine | None, VerdictLine | None]]:
    before, after = ({line.pair: line for line in run.lines} for run in (first, second))
    claims = sorted({claim for claim, _ in [*before, *after]})
    for one, other in _paired_subjects(first, second, subjects):
        for claim in claims:
            a, b = before.get((claim, one)), after.get((claim, other))
            if a or b:
                yield claim, (one, other), a, b


def _paired_subjects(
    first: FinishedRun, second: FinishedRun, subjects: tuple[str, str] | None
) -> list[tuple[str, str]]:
    names = [sorted({line.pair[1] for line in run.lines}) for run in (first, second)]
    if subjects is not None:
        for name, known, run in zip(subjects, names, (first, second), strict=True):
            if name not in known:
                raise ResolventError(f"{run.path}: no verdict on '{name}'; the run has {', '.join(known) or 'none'}")
        return [subjects]
    if set(names[0]) & set(names[1]):
        return [(name, name) for name in sorted({*names[0], *names[1]})]
    if len(names[0]) == len(names[1]) == 1:
        return [(names[0][0], names[1][0])]
    raise ResolventError(
        f"the runs share no subject ({', '.join(names[0]) or 'none'} and {', '.join(names[1]) or 'none'}); "
        "name one of each with --subjects"
    )


def _verdict(line: VerdictLine | None) -> str:
    return ABSENT if line is None else line.judgement.verdict


def _values(claim: str, names: tuple[str, str], a: VerdictLine, b: VerdictLine) -> list[ValueChange]:
    before, after = a.judgement.metrics, b.judgement.metrics
    sides = {result.name: (result.metric, side(result)) for result in a.judgement.criteria}
    moved: dict[str, list[tuple[str, str, str]]] = {}
    for result in b.judgement.criteria:
        metric, was = sides.get(result.name, (result.metric, ""))
        if was and was != side(result):
            moved.setdefault(metric, []).append((result.name, was, side(result)))
    return [
        ValueChange(claim, names, metric, before.get(metric), after.get(metric), tuple(moved.get(metric, ())))
        for metric in dict.fromkeys([*before, *after])
        if before.get(metric) != after.get(metric)
    ]


def _facts(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[FactChange]:
    """Protocols claim by claim, then code, subjects, texts, versions and machine."""
    claims = first.get("claims", {}), second.get("claims", {})
    for name in sorted({*claims[0]} & {*claims[1]}):
        before, after = claims[0][name], claims[1][name]
        if before.get("sha256") != after.get("sha256"):
            frozen = [str(side.get("sha256"))[:12] for side in (before, after)]
            yield FactChange("protocol", f"{name}: the frozen file", *frozen)
        yield from _differences("protocol", name, before.get("protocol", {}), after.get("protocol", {}))
    for group, keys in _GROUPS.items():
        for key in keys:
            yield from _differences(group, key.replace("_", " "), first.get(key), second.get(key))


_GROUPS: Mapping[str, Sequence[str]] = {
    "code": ("code", "ledger_head", "ledger_anchor"),
    "subjects": ("subjects", "texts", "seed"),
    "versions": ("packages", "python"),
    "machine": ("host", "device"),
}


def _differences(group: str, what: str, before: Any, after: Any) -> Iterator[FactChange]:
    """The leaves that differ, named by their path."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            yield from _differences(group, f"{what} {key}", before.get(key), after.get(key))
    else:
        yield FactChange(group, what, _words(before), _words(after))


def _words(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
