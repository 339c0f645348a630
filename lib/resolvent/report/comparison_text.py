"""A comparison on a terminal."""

from __future__ import annotations

from typing import Any

from resolvent.report.comparison import Comparison
from resolvent.report.numbers import number, signed
from resolvent.report.subject_words import SubjectWords
from resolvent.report.terminal import LineWriter, capabilities, rendered


def write_comparison(writer: LineWriter, comparison: Comparison, subjects: tuple[SubjectWords, ...]) -> None:
    """Flips and one-sided verdicts, values, what the runs were made under; then one sentence."""
    colour, width = capabilities(writer)
    changed = [change for change in comparison.verdicts if change.before != change.after]
    tables = [
        _table(
            "verdicts",
            ("claim", "subject", "first", "second", ""),
            [
                (c.claim, _subject(c.subjects), c.before, c.after, "FLIPPED" if c.flipped else "one run only")
                for c in changed
            ],
        ),
        _table(
            "values",
            ("claim", "subject", "metric", "first", "second", "difference", "criterion moved"),
            [
                (
                    v.claim,
                    _subject(v.subjects),
                    v.metric,
                    number(v.before),
                    number(v.after),
                    signed(v.difference) if v.difference is not None else "–",
                    "; ".join(f"{name}: {before} to {after}" for name, before, after in v.sides),
                )
                for v in comparison.values
            ],
        ),
        _table("made under", ("group", "what", "first", "second"), [_fact(f) for f in comparison.facts]),
    ]
    for table in tables:
        if table is not None:
            for text in rendered(table, colour=colour, width=width):
                writer.write_line(text)
    for words in subjects:
        writer.write_line(words.sentence)
    writer.write_line(comparison.sentence)


def _fact(change: Any) -> tuple[str, str, str, str]:
    return change.group, change.what, change.before, change.after


def _subject(names: tuple[str, str]) -> str:
    return names[0] if names[0] == names[1] else f"{names[0]} / {names[1]}"


def _table(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Any:
    """A rich table, None where there is no row."""
    if not rows:
        return None
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
