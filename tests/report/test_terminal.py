"""The summary on a terminal."""

import pytest
from builders import criterion, unmet, verdict_line

from resolvent.report.terminal import tally, write_summary


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A worker of xdist is told of 80 columns."""
    monkeypatch.setenv("COLUMNS", "160")


class Lines:
    """Keeps what is written."""

    def __init__(self):
        self.text = ""

    def write_line(self, line):
        self.text += line + "\n"


def summary(lines, *, unavailable=None, verbose=False):
    writer = Lines()
    write_summary(writer, lines, unavailable=unavailable or {}, verbose=verbose)
    return writer.text


REFUTING = criterion(value=0.1, margin=-0.4, holds=False, refuted=True)

LINES = [
    verdict_line(),
    verdict_line(
        "refuted",
        claim="bad",
        recorded="refuted",
        seen=True,
        criteria=[criterion(value=0.1, margin=-0.4, holds=False, refuted=True)],
    ),
    verdict_line("inestimable", claim="poor", criteria=[], requirements=[unmet()]),
]


def test_claims_by_subjects():
    """A row a claim; what decided stands beside the word; what is missing is said."""
    text = summary(LINES, unavailable={("good", "ghost"): "run: resolvent fetch ghost"})
    rows = {line.split()[0]: line for line in text.splitlines() if line}
    assert rows["claim"].split()[:3] == ["claim", "ada", "ghost"]
    assert rows["good"].split()[:3] == ["good", "SUPPORTED", "UNAVAILABLE"]
    assert "NEGATIVE" in rows["bad"]
    assert "not blind" in rows["bad"]
    assert "size = 0.1, refuted by < 0.3" in rows["bad"]
    assert "heads = 1, required >= 2" in rows["poor"]


def test_a_row_a_criterion_when_verbose():
    """Positives and negatives in equal detail."""
    text = summary(LINES, verbose=True)
    assert text.count("large") == 2
    assert "requires heads" in text
    assert "large" not in summary(LINES)


def test_a_narrow_terminal_loses_nothing(monkeypatch):
    """Folded, not cut: the names and what decided are what one looks for."""
    monkeypatch.setenv("COLUMNS", "44")
    lines = [verdict_line("refuted", claim="a_claim_of_some_length", seen=True, criteria=[REFUTING])]
    text = summary(lines, verbose=True)
    table = text.splitlines()[:-1]
    assert max(map(len, table)) <= 44
    assert "…" not in text
    letters = "".join(cell for row in table for cell in row.split())
    for part in ("CONFIRM", "0.3"):
        assert part.lower() in letters.lower()


def test_what_decides_nothing_is_tallied_apart():
    """A verdict on one's own model is no confirmatory one."""
    lines = [verdict_line(), verdict_line("refuted", subject="mine", exploratory=["the subject is not registered"])]
    assert tally(lines) == "confirmatory: 1 SUPPORTED; exploratory: 1 REFUTED EXPLORATORY"


def test_theorems_are_tallied_apart():
    """They guard the numerics; counting them as findings would flatter the study."""
    lines = [*LINES, verdict_line(claim="law", kind="theorem")]
    assert tally(lines) == "confirmatory: 1 INESTIMABLE, 1 NEGATIVE, 1 SUPPORTED; theorem: 1 SUPPORTED"
    assert tally([]) == "no verdict"
