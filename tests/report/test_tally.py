"""registered = supported + refuted + undecided + inestimable + errors + missing."""

from builders import unmet, verdict_line

from resolvent.report.tally import owed, tallies


def line(verdict, claim, **changes):
    requirements = [unmet()] if verdict == "inestimable" else []
    return verdict_line(verdict, claim=claim, requirements=requirements, **changes)


def test_the_equation_holds_and_nothing_is_lost():
    """Every owed pair is counted once, whatever became of it."""
    lines = [line("supported", "a"), line("refuted", "b"), line("undecided", "c"), line("inestimable", "d")]
    facts = {"expected": [[claim, "ada"] for claim in "abcdefg"], "errors": [["e", "ada"]]}
    (findings,) = tallies(lines, facts, set())
    assert findings.sentence == (
        "7 registered = 1 supported + 1 refuted + 1 undecided + 1 inestimable + 1 errors + 2 missing"
    )
    assert findings.total == len(facts["expected"])


def test_theorems_are_no_findings():
    """They hold for any weights."""
    lines = [line("supported", "a"), line("supported", "t", kind="theorem")]
    findings, theorems = tallies(lines, {}, {"t"})
    assert (findings.group, findings.counts["supported"]) == ("findings", 1)
    assert (theorems.group, theorems.counts["supported"]) == ("theorems", 1)


def test_what_is_exploratory_is_no_finding():
    """A verdict on one's own model, or on fewer texts, was counted among the registered ones."""
    lines = [line("supported", "a"), line("refuted", "a", subject="mine", exploratory=["not registered"])]
    findings, exploratory = tallies(lines, {"expected": [["a", "ada"]]}, set())
    assert (findings.total, findings.counts["refuted"]) == (1, 0)
    assert exploratory.sentence.startswith("1 exploratory = 0 supported + 1 refuted")


def test_a_pair_judged_twice_differently_is_an_error():
    """Neither of its verdicts may be counted."""
    facts = {"expected": [["a", "ada"]], "conflicts": [["a", "ada"]]}
    assert owed([line("supported", "a")], facts) == {("a", "ada"): "errors"}


def test_drafts_and_claims_that_do_not_apply_are_not_counted():
    """Nothing was promised of them."""
    lines = [line("supported", "draft", exploratory=["draft"]), line("not_applicable", "other")]
    assert owed(lines, {"drafts": ["draft"], "expected": []}) == {}
