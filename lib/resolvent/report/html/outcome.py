"""How an outcome looks on a page: a word, a mark that is not colour alone, a style class. All of equal weight."""

from __future__ import annotations

from dataclasses import dataclass

from resolvent.report.verdict_line import VerdictLine


@dataclass(frozen=True)
class Look:
    """word   what is read; mark  a sign before it, told apart by shape; style  the CSS class."""

    word: str
    mark: str
    style: str


_LOOKS = {
    "supported": Look("supported", "●", "supported"),
    "refuted": Look("refuted", "▲", "refuted"),
    "undecided": Look("undecided", "◆", "undecided"),
    "inestimable": Look("inestimable", "○", "inestimable"),
    "not_applicable": Look("not applicable", "–", "absent"),
    "errors": Look("error", "✕", "error"),
    "missing": Look("missing", "✕", "error"),
    "absent": Look("not run", "–", "absent"),
}


def look(outcome: str) -> Look:
    """The look of a computed verdict, or of `errors`, `missing`, `absent`."""
    return _LOOKS[outcome]


def flags(line: VerdictLine, near: bool) -> tuple[str, ...]:
    """Short words beside a verdict: what a reader must know before taking it for more than it is."""
    found = []
    if line.shown.word == "FLIPPED":
        found.append(f"flipped: recorded {line.recorded}")
    elif line.recorded is None and not line.exploratory:
        found.append("not recorded yet")
    if line.exploratory:
        found.append("exploratory")
    if line.seen:
        found.append("not blind")
    if near:
        found.append("near a threshold")
    return tuple(found)
