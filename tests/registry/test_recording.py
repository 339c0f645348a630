"""Recording a run: its verdicts become the outcomes that gate, once, and never silently otherwise."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from registry_builders import SUBJECT, edit, run_folder

from resolvent.registry import Ledger, RecordError, amend, record, recorded, recording, register, verify
from resolvent.study import Study

DAY = datetime.date(2026, 12, 1)
VERDICTS = {"sink_floor": "inestimable", "signed_census": "refuted", "killed_chain": "supported"}


@pytest.fixture
def registered(study: Study) -> Study:
    register(study, list(VERDICTS), today=DAY)
    return study


def test_outcomes_read_back_to_the_bit(registered: Study) -> None:
    """They are compared, hashed and shown beside later runs."""
    done = record(registered, run_folder(registered, VERDICTS), today=DAY)
    assert set(done.new) == {(claim, SUBJECT) for claim in VERDICTS}
    outcomes = recorded(registered)
    assert {claim: outcomes[claim, SUBJECT].verdict for claim in VERDICTS} == VERDICTS
    outcome = outcomes["signed_census", SUBJECT]
    assert (outcome.date, outcome.run) == (DAY, "2026-12-01T10-00-00Z")
    assert outcome.metrics == {"size": 0.1, "size.low": 1e-7}
    assert Ledger.load(registered).verify(registered) == []


def test_recording_again_changes_nothing(registered: Study) -> None:
    """An equal verdict leaves the first record as it is, whatever the last digits of the new one."""
    record(registered, run_folder(registered, VERDICTS), today=DAY)
    before = (registered.prereg / "LEDGER").read_bytes()
    again = record(registered, run_folder(registered, VERDICTS, name="later"), today=DAY)
    assert (again.new, len(again.unchanged)) == ((), 3)
    assert (registered.prereg / "LEDGER").read_bytes() == before


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"partial": True}, "PARTIAL"),
        ({"exploratory": True}, "EXPLORATORY"),
        ({"incomplete": [["killed_chain", SUBJECT]]}, "INCOMPLETE"),
        ({"partial": None}, "partial: found None; allowed: true or false"),
        ({"ledger_head": "ab" * 32}, "another LEDGER"),
    ],
)
def test_only_full_runs_are_recorded(registered: Study, facts: dict[str, Any], named: str) -> None:
    """A selection of claims, or of texts, would let one choose one's outcomes."""
    with pytest.raises(RecordError, match=named):
        record(registered, run_folder(registered, VERDICTS, **facts))
    assert recorded(registered) == {}


def test_killed_run_is_refused(registered: Study) -> None:
    """It has no provenance yet."""
    folder = run_folder(registered, VERDICTS)
    (folder / "provenance.json").unlink()
    with pytest.raises(RecordError, match="was the run killed"):
        record(registered, folder)


@pytest.mark.parametrize("word", ["unavailable", "failed", "error"])
def test_failure_is_no_outcome(registered: Study, word: str) -> None:
    """A missing model must not become a recorded result."""
    with pytest.raises(RecordError, match=f"found '{word}'; allowed: supported"):
        record(registered, run_folder(registered, {**VERDICTS, "sink_floor": word}))


def test_broken_verdict_lines_are_refused(registered: Study) -> None:
    """Half a line is not a verdict, and neither are two for one pair."""
    folder = run_folder(registered, VERDICTS)
    text = (folder / "verdicts.jsonl").read_text(encoding="utf-8")
    for broken, named in [(text[:-9], "line 3 is no verdict"), (text + text, "stands twice"), ("", "no verdict")]:
        (folder / "verdicts.jsonl").write_text(broken, encoding="utf-8")
        with pytest.raises(RecordError, match=named):
            record(registered, folder)


def test_drafts_and_not_applicable_are_left_out(registered: Study) -> None:
    """Only what was promised can be an outcome."""
    verdicts = {**VERDICTS, "interior_growth": "supported", "sink_floor": "not_applicable"}
    done = record(registered, run_folder(registered, verdicts), today=DAY)
    assert "unregistered draft (resolvent register interior_growth" in done.left_out["interior_growth", SUBJECT]
    assert done.left_out["sink_floor", SUBJECT] == "the claim does not apply to it"
    assert set(done.left_out) == {("interior_growth", SUBJECT), ("sink_floor", SUBJECT)}
    assert len(recorded(registered)) == 2


def test_flipped_verdict_is_refused_and_nothing_written(registered: Study) -> None:
    """The first outcome gates; another one must be explained, not overwritten."""
    record(registered, run_folder(registered, {"signed_census": "refuted"}), today=DAY)
    flipped = run_folder(registered, {**VERDICTS, "signed_census": "supported"}, name="later")
    with pytest.raises(RecordError, match=r"FLIPPED(.|\n)*signed_census on smollm2-135m: refuted .* now supported"):
        record(registered, flipped)
    assert len(recorded(registered)) == 1
    with pytest.raises(RecordError, match="needs a reason"):
        record(registered, flipped, replace=True)


def test_replacement_is_logged_with_its_reason(registered: Study) -> None:
    """The ledger keeps both verdicts and why."""
    record(registered, run_folder(registered, {"signed_census": "refuted"}), today=DAY)
    flipped = run_folder(registered, {"signed_census": "supported"}, name="later")
    done = record(registered, flipped, replace=True, reason="a bug in the null", today=DAY)
    assert done.replaced == (("signed_census", SUBJECT),)
    assert recorded(registered)["signed_census", SUBJECT].verdict == "supported"
    history = [(e.verdict, e.reason) for e in Ledger.load(registered).entries if e.event == "outcome"]
    assert history == [("refuted", None), ("supported", "a bug in the null")]
    assert verify(registered).problems == ()


def test_run_made_before_an_amendment_is_refused(registered: Study, tmp_path: Any) -> None:
    """Its verdict is on the version that was superseded."""
    folder = run_folder(registered, VERDICTS, ledger_head=Ledger.load(registered).head)
    new = tmp_path / "new.yaml"
    new.write_text((registered.prereg / "signed_census.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    edit(new, "at_least: 0.55", "at_least: 0.6")
    amend(registered, "signed_census", new, "a slip", today=DAY)
    with pytest.raises(RecordError, match="before signed_census was amended"):
        record(registered, folder)


def test_nothing_is_recorded_while_a_frozen_file_differs(registered: Study) -> None:
    """The verdict would be on an edited claim."""
    edit(registered.prereg / "sink_floor.yaml", "at_most: 1.05", "at_most: 1.15")
    with pytest.raises(RecordError, match="differs from the LEDGER"):
        record(registered, run_folder(registered, VERDICTS))


def test_interrupted_recording_is_finished_by_repeating_it(registered: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger comes first; the files that are missing then can be told by their hashes."""
    folder = run_folder(registered, VERDICTS)

    def fail(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(recording, "replace_file", fail)
        with pytest.raises(OSError, match="no space"):
            record(registered, folder, today=DAY)
    assert verify(registered).problems != ()
    record(registered, folder, today=DAY + datetime.timedelta(days=1))
    assert verify(registered).problems == ()
    assert len(recorded(registered)) == 3


def test_infinite_metrics_are_recorded(registered: Study) -> None:
    """A run writes infinities as words, which JSON lacks."""
    folder = run_folder(registered, {"killed_chain": "supported"})
    edit(folder / "verdicts.jsonl", '"size": 0.1', '"size": "-inf"')
    record(registered, folder, today=DAY)
    assert recorded(registered)["killed_chain", SUBJECT].metrics["size"] == float("-inf")
    assert verify(registered).problems == ()
