"""The verdicts on a terminal: claims × subjects, with a row a criterion where asked for."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from resolvent.report.criteria_table import deciding, side
from resolvent.report.numbers import number, signed, with_interval
from resolvent.report.subject_words import SubjectWords
from resolvent.report.verdict_line import VerdictLine
from resolvent.report.verdict_words import UNAVAILABLE

Pair = tuple[str, str]

# Where nobody says how wide lines may be, these hold the table of criteria unbroken.
_PLAIN_WIDTH = 160


class LineWriter(Protocol):
    """What pytest's terminal reporter offers."""

    def write_line(self, line: str) -> None: ...


class Printer:
    """A LineWriter for standard output."""

    def write_line(self, line: str) -> None:
        print(line)


def write_summary(
    writer: LineWriter,
    lines: Sequence[VerdictLine],
    *,
    unavailable: Mapping[Pair, str],
    verbose: bool,
    subjects: Sequence[SubjectWords] = (),
) -> None:
    """Writes the table claims × subjects and the tally; where verbose, a row a criterion.

    unavailable  pairs without a verdict because something is not fetched
    subjects     said below the table, a line each
    """
    colour, width = capabilities(writer)
    for text in rendered(_matrix(lines, unavailable), colour=colour, width=width):
        writer.write_line(text)
    if verbose:
        for text in rendered(_criteria(lines), colour=colour, width=width):
            writer.write_line(text)
    for words in subjects:
        writer.write_line(words.sentence)
    writer.write_line(tally(lines))


def capabilities(writer: LineWriter) -> tuple[bool, int]:
    """Whether to colour, and how wide to be: as wide as the terminal, or as COLUMNS says."""
    terminal: Any = getattr(writer, "_tw", None)
    if terminal is not None:
        told = terminal.hasmarkup or "COLUMNS" in os.environ
        return bool(terminal.hasmarkup), terminal.fullwidth if told else _PLAIN_WIDTH
    at_a_terminal = sys.stdout.isatty()
    told = at_a_terminal or "COLUMNS" in os.environ
    width = shutil.get_terminal_size().columns if told else _PLAIN_WIDTH
    return at_a_terminal and "NO_COLOR" not in os.environ, width


def tally(lines: Sequence[VerdictLine]) -> str:
    """Words and how often, theorems and post hoc claims apart, and apart from all what decides nothing."""
    kinds: dict[str, dict[str, int]] = {}
    for line in lines:
        words = kinds.setdefault("exploratory" if line.exploratory else line.kind, {})
        words[line.shown.word] = words.get(line.shown.word, 0) + 1
    parts = [
        f"{kind}: " + ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
        for kind, words in sorted(kinds.items())
    ]
    return "; ".join(parts) or "no verdict"


def rendered(table: Any, *, colour: bool, width: int) -> list[str]:
    """The lines of a rich table."""
    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
    )
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return [text.rstrip() for text in console.file.getvalue().rstrip("\n").split("\n")]


def _matrix(lines: Sequence[VerdictLine], unavailable: Mapping[Pair, str]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    subjects = list(dict.fromkeys([line.pair[1] for line in lines] + [subject for _, subject in unavailable]))
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for name in ("claim", *subjects, "kind", "decided by"):
        table.add_column(name, overflow="fold")
    cells = {line.pair: line for line in lines}
    for claim in sorted({pair[0] for pair in [*cells, *unavailable]}):
        of_claim = [cells[claim, subject] for subject in subjects if (claim, subject) in cells]
        row: list[Any] = [claim]
        for subject in subjects:
            line = cells.get((claim, subject))
            if line is not None:
                row.append(Text(line.shown.word, style=line.shown.colour))
            elif (claim, subject) in unavailable:
                row.append(Text(UNAVAILABLE[2], style=UNAVAILABLE[3]))
            else:
                row.append("–")
        row.append(kinds(of_claim))
        reasons = [(line.pair[1], _decided_by(line)) for line in of_claim]
        row.append("; ".join(f"{name}: {why}" if len(subjects) > 1 else why for name, why in reasons if why))
        table.add_row(*row)
    return table


def kinds(lines: Sequence[VerdictLine]) -> str:
    """The kind of a claim, and on which subjects it is not blind."""
    if not lines:
        return ""
    kind = lines[0].kind.replace("_", " ")
    seen = [line.pair[1] for line in lines if line.seen]
    if not seen:
        return kind
    return f"{kind}, not blind" + ("" if len(seen) == len(lines) else f" on {', '.join(seen)}")


def _decided_by(line: VerdictLine) -> str:
    """What is unmet, or the first criterion that refutes, or the first without support."""
    unmet = [requirement for requirement in line.judgement.requirements if not requirement.met]
    if unmet:
        return f"{unmet[0].metric} = {number(unmet[0].value)}, required {unmet[0].predicate}"
    results = deciding(line)
    if not results:
        return ""
    value = with_interval(results[0].value, results[0].low, results[0].high)
    why = f"refuted by {results[0].refute}" if results[0].refuted else f"support needs {results[0].support}"
    return f"{results[0].metric} = {value}, {why}"


def _criteria(lines: Sequence[VerdictLine]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for name in ("claim", "subject", "criterion", "value", "support", "refute", "margin", "holds"):
        table.add_column(name, overflow="fold")
    for line in sorted(lines, key=lambda line: line.pair):
        for requirement in line.judgement.requirements:
            style = "green" if requirement.met else "cyan"
            holds = Text("met" if requirement.met else "unmet", style=style)
            name = f"requires {requirement.metric}"
            table.add_row(*line.pair, name, number(requirement.value), requirement.predicate, "", "", holds)
        for result in line.judgement.criteria:
            holds = Text(side(result), style="green" if result.holds else "red" if result.refuted else "yellow")
            value = with_interval(result.value, result.low, result.high)
            table.add_row(*line.pair, result.name, value, result.support, result.refute, signed(result.margin), holds)
    return table
