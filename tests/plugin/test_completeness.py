"""The gate: a full run owes a verdict to every registered claim × subject of the cohort."""

from resolvent.pytest_plugin.completeness import completeness, pair_of

A, B, C = ("one", "ada"), ("two", "ada"), ("three", "ada")


def test_a_full_run_with_all_verdicts_is_complete():
    """Nothing missing, nothing partial."""
    found = completeness({A, B}, {A, B}, {A, B}, {A, B}, tested={"one", "two"})
    assert not found.partial
    assert found.incomplete == ()


def test_a_claim_without_a_test_is_incomplete_in_a_full_run_only():
    """A promise that nothing tests must not go unnoticed; a selection says nothing about it."""
    assert completeness({A, B}, {A}, {A}, {A}, tested={"one"}).incomplete == (B,)
    partial = completeness({A, B, C}, {A}, {A}, {A}, tested={"one", "three"})
    assert partial.partial
    assert partial.incomplete == ()


def test_a_selected_pair_without_verdict_is_incomplete_even_in_a_partial_run():
    """It failed, or never ran."""
    found = completeness({A, B, C}, {A, B}, {A}, set(), tested={"one", "two", "three"})
    assert found.unjudged == (A,)
    assert found.not_run == (B,)
    assert found.incomplete == (A, B)


def test_pairs_are_read_off_node_ids():
    """Evidence items and plain tests are no pairs."""
    assert pair_of("claims/test_census.py::test_signed_census[smollm2-135m]") == ("signed_census", "smollm2-135m")
    assert pair_of("evidence::battery[smollm2-135m/corpus/0-7]") is None
    assert pair_of("tests/test_x.py::test_x") is None


def test_full_partial_and_incomplete_runs(study):
    """-k, a file, a subject and -x make a run PARTIAL; a registered claim without a test fails a full run."""
    study.claim("good")
    study.claim("other", file="test_other.py")
    study.register()
    full = study.run("claims")
    assert (full.code, full.provenance["partial"]) == (0, False), full.output
    assert "PARTIAL" not in full.output
    for selection in (["-k", "good"], ["claims/test_other.py"], ["--subject=ada"]):
        run = study.run(*selection)
        assert (run.code, run.provenance["partial"], run.provenance["incomplete"]) == (0, True, []), run.output
        assert "PARTIAL" in run.output
        assert "**PARTIAL**" in run.report
    study.claim("untested", test=False)
    study.claim("stopper", body="raise ValueError('stop')", file="test_a_first.py")
    study.register()
    stopped = study.run("claims", "-x")
    assert stopped.code == 1
    assert stopped.provenance["partial"]
    (study.root / "claims/test_a_first.py").unlink()
    missing = study.run("claims", "-n", "2")
    assert missing.code == 1
    assert "INCOMPLETE: no verdict for untested on ada" in missing.output
    assert ["stopper", "bell"] in missing.provenance["incomplete"]
