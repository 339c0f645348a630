"""Each row of the table of outcomes, through pytest."""

import json
import re

import pytest

from resolvent.registry import RecordError, record
from resolvent.study import open_study


@pytest.fixture
def four(study):
    """A study whose claims compute to the four verdicts, registered."""
    study.claim("good", value=0.9)
    study.claim("bad", value=0.1, seen="[ada]")
    study.claim("unsure", value=0.4)
    study.claim("poor", count=0)
    study.register()
    return study


def letters(output):
    """The progress letters of the claims."""
    return "".join(re.findall(r"^claims/\S+ (\S+)", output, re.MULTILINE))


def test_unrecorded_then_recorded_then_flipped(four):
    """A negative fails the run until it is recorded, is green afterwards, and any change of verdict is red again."""
    first = four.run("claims")
    assert first.code == 1
    assert letters(first.output) == "..RRUUii"
    assert first.words == {
        **{f"good[{name}]": "SUPPORTED" for name in ("ada", "bell")},
        **{f"bad[{name}]": "REFUTED" for name in ("ada", "bell")},
        **{f"unsure[{name}]": "UNDECIDED" for name in ("ada", "bell")},
        **{f"poor[{name}]": "INESTIMABLE" for name in ("ada", "bell")},
    }
    line = first.verdicts["bad", "ada"]
    assert line["metrics"] == {"size": 0.1, "heads": 5.0, "also": 8.0}
    assert line["criteria"][0] | {"margin": 0} == {
        "name": "large",
        "metric": "size",
        "says": "the size",
        "value": 0.1,
        "low": None,
        "high": None,
        "support": ">= 0.5",
        "refute": "< 0.3",
        "margin": 0,
        "holds": False,
        "refuted": True,
    }
    assert (line["recorded"], line["kind"], line["seen"], line["exploratory"]) == (None, "confirmatory", True, False)
    assert list(first.verdicts) == sorted(first.verdicts)
    assert "large      size    0.1    >= 0.5   < 0.3   -0.4    refute" in first.output
    assert "Traceback" not in first.output
    assert "claim.judge(" not in first.output
    assert "heads = 0, needs >= 1" in first.output
    assert "not blind" in first.report
    assert "ada: dequantised from Q4_1, 2 layers of 2 heads." in first.report
    assert not first.provenance["partial"]
    assert not first.provenance["exploratory"]
    assert not first.provenance["incomplete"]
    assert len(first.provenance["evidence"]["computed"]) == 8

    record(open_study(four.root), first.folder)
    second = four.run("-v", "claims")
    assert second.code == 0, second.output
    assert second.words["bad[bell]"] == "NEGATIVE"
    assert second.words["unsure[ada]"] == "UNDECIDED"
    assert second.verdicts["bad", "ada"]["recorded"] == "refuted"
    assert re.search(r"test_bad\[ada\] NEGATIVE", second.output)
    assert "4 passed" not in second.output  # shards were cached: only the claims ran
    assert "2 passed, 2 skipped, 4 xfailed" in second.output
    assert second.provenance["evidence"]["computed"] == {}
    assert len(second.provenance["evidence"]["cached"]) == 8

    four.write("offset", "-0.3")
    third = four.run("claims", "--evidence-dir=other")
    assert third.code == 1
    assert letters(third.output) == "..NN!!ii"
    assert third.words["unsure[ada]"] == "FLIPPED"
    assert "recorded as undecided" in third.output
    with pytest.raises(RecordError, match="FLIPPED"):
        record(open_study(four.root), third.folder)


def test_exploratory_runs_pass_and_cannot_be_recorded(four):
    """Fewer texts than promised prove nothing: shown, never counted, whatever comes out."""
    run = four.run("claims", "--texts=1")
    assert run.code == 0, run.output
    assert letters(run.output) == "..RRUUii"
    assert run.words["bad[ada]"] == "REFUTED EXPLORATORY"
    assert run.verdicts["bad", "ada"]["exploratory_because"] == ["--texts=1 in place of 2"]
    assert run.provenance["exploratory"]
    assert "EXPLORATORY" in run.output
    with pytest.raises(RecordError, match="EXPLORATORY"):
        record(open_study(four.root), run.folder)
    assert sorted(set(four.computed())) == ["base[ada/0]", "base[bell/0]", "double[ada/0]", "double[bell/0]"]


def test_the_protocol_s_own_number_of_texts_is_no_deviation(four):
    """--texts with the registered number changes nothing."""
    run = four.run("claims", "-k", "good", "--texts=2")
    assert run.words == {"good[ada]": "SUPPORTED", "good[bell]": "SUPPORTED"}


def test_drafts_are_exploratory_and_listed(study):
    """A claim without a ledger line was promised to nobody."""
    study.claim("good")
    study.register()
    study.claim("draft", value=0.1)
    run = study.run("claims")
    assert run.code == 0, run.output
    assert run.words["draft[ada]"] == "REFUTED EXPLORATORY"
    assert run.words["good[ada]"] == "SUPPORTED"
    assert run.provenance["drafts"] == ["draft"]
    assert "unregistered drafts, not counted: 1 (-v or report.md names them)" in run.output
    assert "## Unregistered drafts\n\n- draft\n" in run.report
    assert not run.provenance["exploratory"]
    record(open_study(study.root), run.folder)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_is_not_fetched_fails_and_plans_nothing(study, workers):
    """A missing model is neither a skip nor a verdict; pytest never fetches. One line, however many the claims."""
    study.claim("good")
    study.claim("better")
    study.register()
    run = study.run("claims", "--cohort=absent", "-n", workers)
    assert run.code == 1
    if workers == "0":
        assert letters(run.output) == "--"
    told = [line for line in run.output.splitlines() if "resolvent fetch ghost" in line]
    assert len(told) == 1, run.output
    assert told[0].startswith("UNAVAILABLE: ")
    assert told[0].endswith("(no verdict on 2 claims)")
    assert "INCOMPLETE" not in run.output
    assert "2 unavailable" in run.output
    assert run.verdicts == {}
    assert study.computed("begin") == []
    assert run.provenance["incomplete"] == [["better", "ghost"], ["good", "ghost"]]


def test_a_claim_test_judges_exactly_once(study):
    """No verdict, two, a swallowed one, a bug, a skip: none of these may look like a result."""
    study.claim("silent", body="pass")
    study.claim("twice", body="claim.judge(size=1.0, heads=1); claim.judge(size=1.0, heads=1)")
    study.claim(
        "swallowed",
        value=0.1,
        body="import contextlib\n    with contextlib.suppress(BaseException):\n        claim.judge(size=0.1, heads=1)",
    )
    study.claim("late_bug", body="claim.judge(size=1.0, heads=1); raise ValueError('a bug after judging')")
    study.claim("early_bug", body="raise ValueError('a bug before judging')")
    study.claim("skipping", body="import pytest; pytest.skip('no')")
    study.claim("excused", body="import pytest; pytest.xfail('no')")
    study.claim("nan", body="claim.judge(size=float('nan'), heads=1)")
    study.claim("nameless", body="claim.judge(sizes=1.0, heads=1)")
    study.register()
    run = study.run("claims", "--subject=ada")
    assert run.code == 1
    assert run.words == {"swallowed[ada]": "REFUTED"}
    assert "9 failed" in run.output
    for message in (
        "without calling claim.judge",
        "claim.judge twice",
        "a bug after judging",
        "a bug before judging",
        "a claim test may not skip",
        "is NaN",
        "'size' of the criterion 'large' was not reported",
    ):
        assert message in run.output, message


def test_too_few_texts_are_inestimable(study):
    """A short corpus is no refutation: the verdict says how many texts there are and how many were asked for."""
    study.claim("short", protocol="{texts: 2, value: 0.9, available_texts: 1}")
    study.register()
    run = study.run("claims")
    assert run.code == 0, run.output
    assert run.words == {"short[ada]": "INESTIMABLE", "short[bell]": "INESTIMABLE"}
    assert run.verdicts["short", "ada"]["requirements"] == [
        {"metric": "texts", "value": 1.0, "predicate": ">= 2", "met": False}
    ]
    exploratory = study.run("claims", "--texts=3")
    assert exploratory.words["short[ada]"] == "INESTIMABLE EXPLORATORY"
    assert exploratory.code == 0


def test_lines_are_strict_json(four):
    """Other tools read verdicts.jsonl: no NaN, no Infinity."""
    run = four.run("claims", "-k", "good")

    def refuse(word):
        raise AssertionError(word)

    for line in run.verdict_text.splitlines():
        json.loads(line, parse_constant=refuse)


def test_another_reading_is_judged_without_settling_anything(study):
    """A test may ask which verdict other numbers would get; its own verdict stays the only one."""
    study.claim(
        "good", value=0.9, body="claim.judge(size=0.9, heads=1, flips=claim.verdict(size=0.1, heads=1) == 'refuted')"
    )
    finished = study.run("claims", "--subject=ada")
    assert finished.verdicts["good", "ada"]["verdict"] == "supported"
    assert finished.verdicts["good", "ada"]["metrics"]["flips"] == 1


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_narrow_terminal_without_unicode_can_be_read(study, workers):
    """Tables fold to the width, lines and signs have their nearest ASCII."""
    study.claim("good", texts=1)
    study.claim("bad_in_several_ways", value=0.1, texts=1)
    study.register()
    run = study.run("--subject=ada", "-n", workers, COLUMNS="50", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert run.code == 1
    assert "\\u" not in run.output
    assert "PARTIAL: 2 registered claim x subject not selected" in run.output
    tables = run.output[run.output.index(" verdicts ") :].splitlines()
    rows = [line for line in tables if line.startswith(("claim", "good", "bad", "----"))]
    assert len(rows) >= 4
    assert max(map(len, rows)) <= 50
    assert "large, metric size, value 0.1, support >= 0.5," in run.output
