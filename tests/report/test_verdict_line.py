"""The line of verdicts.jsonl."""

import json
import math

import numpy as np
import pytest
from builders import criterion, unmet, verdict_line

from resolvent.report.criteria_table import criteria_table, headline
from resolvent.report.strict_json import strict_json
from resolvent.report.verdict_line import VerdictLine


def test_a_line_reads_back_to_the_bit():
    """Two equal runs have equal files, and a report can be made again from one."""
    line = verdict_line(
        criteria=[criterion(value=0.1 + 0.2, low=1 / 3, high=math.inf, margin=-math.inf)],
        metrics={"size": 5e-324, "low": -math.inf},
        recorded="refuted",
        seen=True,
        exploratory=["the subject is not registered"],
    )
    text = line.to_json_line()
    assert VerdictLine.from_json_line(text) == line
    assert "\n" not in text
    assert set(json.loads(text)) >= {"claim", "subject", "verdict", "recorded", "metrics", "criteria", "kind", "seen"}


def test_json_has_no_words_for_what_is_not_finite():
    """Infinity and NaN are no JSON; 1e999 is, and every reader takes it for infinity."""
    text = strict_json({"a": [math.inf, -math.inf], "b": math.nan, "c": True, "d": None, "e": "x – y"})
    assert text == '{"a": [1e999, -1e999], "b": null, "c": true, "d": null, "e": "x – y"}'
    assert json.loads(text)["a"] == [math.inf, -math.inf]


def test_numpy_scalars_are_refused():
    """What is no plain type would end a session of pytest workers."""
    with pytest.raises(TypeError):
        strict_json({"a": np.int64(1)})


def test_the_table_shows_what_decided():
    """Value with its interval, both predicates, the margin, and which of them holds."""
    line = verdict_line(
        "refuted",
        criteria=[
            criterion(),
            criterion(name="small", value=0.2, low=0.1, high=0.25, margin=-0.3, holds=False, refuted=True),
        ],
    )
    table = criteria_table(line)
    assert table.splitlines()[0] == "REFUTED: good on ada (size = 0.2)"
    assert "0.2 [0.1, 0.25]" in table
    assert "-0.3    refute" in table
    assert "+0.4    support" in table


def test_inestimable_names_number_and_threshold():
    """Else nobody knows what would be needed."""
    line = verdict_line("inestimable", criteria=[], requirements=[unmet()])
    assert headline(line) == "INESTIMABLE: good on ada (heads = 1, needs >= 2)"
