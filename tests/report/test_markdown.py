"""report.md."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from builders import criterion, verdict_line

sys.path.insert(0, str(Path(__file__).parents[1] / "plugin"))
from mini_study import MiniStudy

from resolvent.models.subjects import load_subjects
from resolvent.registry import register
from resolvent.report.criteria_table import further_metrics
from resolvent.report.markdown import markdown_report
from resolvent.study import open_study

PUBLISHED = """
claim: bad
paper: transient-reserves
values:
  - {says: the size, where: table 1, subject: ada, metric: size, value: 0.75, verdict: supported}
  - {says: the size of others, where: section 3, words: larger still}
"""


@pytest.fixture
def study(tmp_path):
    """A study with two claims, one of them with published numbers."""
    made = MiniStudy(tmp_path)
    made.claim("good")
    made.claim("bad")
    made.write("prereg/published/bad.yaml", PUBLISHED)
    opened = open_study(made.root)
    register(opened, ["good", "bad"])
    return opened


def report(study, lines, **facts):
    return markdown_report(study, load_subjects(study), lines, facts)


BAD = verdict_line(
    "refuted",
    claim="bad",
    recorded="refuted",
    seen=True,
    metrics={"size": 0.1, "other": 3.0, "spread": 1.0, "spread.low": 0.5, "spread.high": 2.0, "spread.undefined": 4.0},
    criteria=[criterion(value=0.1, margin=-0.4, holds=False, refuted=True)],
)


def test_negatives_have_the_detail_of_positives(study):
    """Hypothesis, criteria, margins and further metrics of both."""
    text = report(study, [BAD, verdict_line()])
    good, bad = text.index("### good"), text.index("### bad")
    for word in ("Hypothesis: The size is large.", "| criterion | says | value |", "| large | the size |"):
        assert word in text[bad:good], word
        assert word in text[good:], word
    assert "**ada: NEGATIVE** (computed: refuted, recorded: refuted) — not blind" in text
    assert "Also measured: other = 3, spread = 1 [0.5, 2], spread.undefined = 4." in text
    assert "ada: dequantised from Q4_1, 2 layers of 2 heads. Not blind for 1 of 2 claims" in text


def test_what_intervals_left_out_is_said_of_criteria_too() -> None:
    """An interval is one number with its ends; those of a criterion stand in its row, what it left out nowhere else."""
    metrics = {"size": 0.1, "size.low": 0.0, "size.high": 0.2, "size.undefined": 3.0, "spread": 1.0, "spread.low": 0.5}
    line = replace(BAD, judgement=replace(BAD.judgement, metrics={**metrics, "spread.high": 2.0}))
    assert further_metrics(line) == [("size.undefined", "3"), ("spread", "1 [0.5, 2]")]


def test_published_numbers_stand_beside_ours(study):
    """They decide nothing, and say so."""
    text = report(study, [BAD])
    assert "Published (decides nothing):" in text
    assert "| ada | the size | 0.75 | table 1 | supported | ada: 0.1 |" in text
    assert "| all models | the size of others | larger still | section 3 |" in text


def test_kinds_are_kept_apart(study):
    """A theorem is no finding."""
    text = report(study, [BAD, verdict_line(kind="theorem")])
    assert (
        text.index("## Confirmatory claims")
        < text.index("### bad")
        < text.index("## Theorems")
        < text.index("### good")
    )


def test_stamps_come_first(study):
    """Nobody must take a part, or an exploration, for the study."""
    text = report(study, [BAD], partial=True, exploratory=True, incomplete=[["good", "ada"]], drafts=["later"])
    head = text[: text.index("## ")]
    for word in (
        "**PARTIAL**",
        "**EXPLORATORY**",
        "**INCOMPLETE**: no verdict for good on ada",
        "Unregistered drafts, not counted: 1",
    ):
        assert word in head
