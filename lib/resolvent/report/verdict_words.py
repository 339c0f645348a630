"""The table of outcomes: computed verdict × recorded outcome -> pytest category, letter, word, colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Category = Literal["passed", "failed", "xfailed", "skipped"]

UNAVAILABLE = ("unavailable", "-", "UNAVAILABLE", "red")
"""Fails the run, in a category of its own: for a failure pytest prints a section a claim, where a line a model does."""


@dataclass(frozen=True)
class Shown:
    """How a verdict appears.

    category  pytest's own, so that its summaries stay complete
    letter    one character of the progress line
    word      of the verbose line and the tables
    colour    green, red, yellow or cyan
    """

    category: Category
    letter: str
    word: str
    colour: str


_UNRECORDED = {
    "supported": Shown("passed", ".", "SUPPORTED", "green"),
    "refuted": Shown("failed", "R", "REFUTED", "red"),
    "undecided": Shown("failed", "U", "UNDECIDED", "yellow"),
    "inestimable": Shown("skipped", "i", "INESTIMABLE", "cyan"),
}

_AS_RECORDED = {
    "supported": _UNRECORDED["supported"],
    "refuted": Shown("xfailed", "N", "NEGATIVE", "red"),
    "undecided": Shown("xfailed", "u", "UNDECIDED", "yellow"),
    "inestimable": _UNRECORDED["inestimable"],
}


def shown(verdict: str, recorded: str | None, *, exploratory: bool) -> Shown:
    """How a computed verdict appears beside the recorded outcome (None: nothing recorded yet).

    An exploratory verdict always passes and ignores what is recorded: its word is followed by EXPLORATORY.
    """
    plain = _UNRECORDED[verdict]
    if exploratory:
        return Shown("passed", plain.letter, f"{plain.word} EXPLORATORY", plain.colour)
    if recorded is None:
        return plain
    if recorded == verdict:
        return _AS_RECORDED[verdict]
    return Shown("failed", "!", "FLIPPED", "red")
