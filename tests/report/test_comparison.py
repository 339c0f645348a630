"""What changed between two runs."""

import json
from pathlib import Path

import pytest
from builders import criterion, unmet, verdict_line

from resolvent.errors import ResolventError
from resolvent.report.comparison import compare_runs
from resolvent.report.run_folder import FinishedRun


def run(*lines, **provenance):
    return FinishedRun(Path("runs/some"), lines, provenance)


GOOD = verdict_line(claim="good")
REFUTED = criterion(value=0.1, holds=False, refuted=True)
BAD = verdict_line("refuted", claim="good", metrics={"size": 0.1}, criteria=[REFUTED])


def test_equal_runs_have_no_difference():
    """The commonest case: the same evidence, read again."""
    found = compare_runs(run(GOOD, seed=1), run(GOOD, seed=1))
    assert (found.flips, found.values, found.facts, found.one_sided) == ((), (), (), ())
    assert found.sentence == "1 verdicts compared: 0 flips; 0 values differ; 0 judged in one run only"


def test_a_flip_names_verdicts_values_and_the_criterion_that_moved():
    """Whoever reads it must see why."""
    found = compare_runs(run(GOOD), run(BAD))
    (flip,) = found.flips
    assert (flip.claim, flip.before, flip.after) == ("good", "supported", "refuted")
    (value,) = found.values
    assert value.difference == pytest.approx(-0.8)
    assert value.sides == (("large", "support", "refute"),)


@pytest.mark.parametrize("verdict", ["supported", "refuted", "undecided", "inestimable"])
def test_every_change_of_verdict_is_a_flip(verdict):
    """Becoming inestimable too: the same data say less than they did."""
    other = verdict_line(verdict, claim="good", requirements=[unmet()] if verdict == "inestimable" else [])
    assert bool(compare_runs(run(GOOD), run(other)).flips) is (verdict != "supported")


def test_what_one_run_lacks_is_no_flip():
    """A partial run beside a full one."""
    found = compare_runs(run(GOOD, verdict_line(claim="more")), run(GOOD))
    assert not found.flips
    assert [change.claim for change in found.one_sided] == ["more"]


def test_the_last_bit_of_a_value_counts():
    """Equal verdict files are equal to the bit; anything else is a difference."""
    nearly = verdict_line(claim="good", metrics={"size": 0.9 + 1e-16 * 2})
    assert [value.metric for value in compare_runs(run(GOOD), run(nearly)).values] == ["size"]


def test_two_models_are_paired_by_claim():
    """`resolvent compare RUN RUN --subjects ada bell`; alone they are paired by themselves."""
    ada, bell = verdict_line(subject="ada"), verdict_line("undecided", subject="bell")
    assert compare_runs(run(ada), run(bell)).flips[0].subjects == ("ada", "bell")
    both = run(ada, bell)
    assert compare_runs(both, both, ("ada", "bell")).flips[0].subjects == ("ada", "bell")
    assert not compare_runs(both, both).flips
    with pytest.raises(ResolventError, match="no verdict on 'eve'; the run has ada, bell"):
        compare_runs(both, both, ("ada", "eve"))
    with pytest.raises(ResolventError, match="--subjects"):
        compare_runs(both, run(verdict_line(subject="eve")))


def test_protocol_code_and_versions_are_compared():
    """Each leaf that differs, by its path; nothing else."""
    first = {
        "code": {"commit": "a", "dirty": False},
        "packages": {"numpy": "1", "scipy": "2"},
        "claims": {"good": {"sha256": "x" * 64, "protocol": {"texts": 32, "nulls": {"row_permutation": 4}}}},
    }
    second = json.loads(json.dumps(first))
    second["code"]["dirty"], second["packages"]["numpy"] = True, "3"
    second["claims"]["good"]["protocol"]["nulls"]["row_permutation"] = 2
    found = compare_runs(run(GOOD, **first), run(GOOD, **second)).facts
    assert [(fact.group, fact.what, fact.before, fact.after) for fact in found] == [
        ("protocol", "good nulls row_permutation", "4", "2"),
        ("code", "code dirty", "no", "yes"),
        ("versions", "packages numpy", "1", "3"),
    ]
