"""How a verdict ends a test: the exceptions that pytest sees."""

from __future__ import annotations

import pytest

from resolvent.errors import ResolventError


class VerdictFailure(Exception):
    """A verdict that fails the run; its message is the table of criteria."""


class Refuted(VerdictFailure):
    """The refuting predicates hold, and no such outcome is recorded."""


class Undecided(VerdictFailure):
    """Neither support nor refutation, and no such outcome is recorded."""


class Flipped(VerdictFailure):
    """Another verdict than the recorded one."""


class Unavailable(ResolventError):
    """A model or a text that has not been fetched."""


class ClaimTestError(ResolventError):
    """A claim test that does not judge exactly once."""


def ending(category: str, word: str, table: str) -> BaseException | None:
    """The exception with which a judged test ends; None where it passes.

    `category` and `word` are those of report.verdict_words.
    """
    if category == "passed":
        return None
    if category == "xfailed":
        return pytest.xfail.Exception(table)
    if category == "skipped":
        return pytest.skip.Exception(table)
    return {"REFUTED": Refuted, "UNDECIDED": Undecided, "FLIPPED": Flipped}[word](table)
