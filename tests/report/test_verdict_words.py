"""The table of outcomes."""

import pytest

from resolvent.report.verdict_words import shown

VERDICTS = ("supported", "refuted", "undecided", "inestimable")


@pytest.mark.parametrize(
    ("verdict", "recorded", "category", "letter", "word"),
    [
        ("supported", None, "passed", ".", "SUPPORTED"),
        ("supported", "supported", "passed", ".", "SUPPORTED"),
        ("refuted", None, "failed", "R", "REFUTED"),
        ("refuted", "refuted", "xfailed", "N", "NEGATIVE"),
        ("undecided", None, "failed", "U", "UNDECIDED"),
        ("undecided", "undecided", "xfailed", "u", "UNDECIDED"),
        ("inestimable", None, "skipped", "i", "INESTIMABLE"),
        ("inestimable", "inestimable", "skipped", "i", "INESTIMABLE"),
    ],
)
def test_each_row(verdict, recorded, category, letter, word):
    """The rows where nothing is recorded, or the same is."""
    found = shown(verdict, recorded, exploratory=False)
    assert (found.category, found.letter, found.word) == (category, letter, word)


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("recorded", VERDICTS)
def test_any_change_is_a_flip(verdict, recorded):
    """A recorded outcome gates in every direction: also a negative that turns positive."""
    found = shown(verdict, recorded, exploratory=False)
    assert (found.word == "FLIPPED") == (verdict != recorded)
    assert (found.category == "failed") == (verdict != recorded)


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("recorded", [None, *VERDICTS])
def test_exploratory_verdicts_pass_and_ignore_what_is_recorded(verdict, recorded):
    """They decide nothing, so they can fail nothing."""
    found = shown(verdict, recorded, exploratory=True)
    assert found.category == "passed"
    assert found.word == f"{verdict.upper()} EXPLORATORY"
