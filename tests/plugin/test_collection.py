"""What is collected, and what evidence is planned for it."""

import pytest


def test_a_selection_plans_only_what_it_needs(study):
    """-k on one claim must not compute the evidence of another."""
    study.claim("short", texts=1)
    study.claim("long", texts=3)
    study.register()
    run = study.run("claims", "-k", "short")
    assert run.code == 0, run.output
    assert sorted(study.computed()) == ["base[ada/0]", "base[bell/0]", "double[ada/0]", "double[bell/0]"]
    again = study.run("claims/test_all.py::test_long[ada]")
    assert again.code == 0, again.output
    assert sorted(set(study.computed()) - {"base[bell/0]", "double[bell/0]"}) == [
        f"{stage}[ada/{text}]" for stage in ("base", "double") for text in range(3)
    ]
    assert len(study.computed()) == len(set(study.computed()))


def test_shards_are_items_ahead_of_the_claims(study):
    """A failing shard then has a traceback of its own, and --durations names it."""
    study.claim("good", texts=1)
    study.register()
    run = study.run("claims", "--collect-only", "-q", "--subject=ada")
    ids = [line for line in run.output.splitlines() if "::" in line]
    assert ids == [
        "evidence::base[ada/corpus/0]",
        "evidence::double[ada/corpus/0]",
        "claims/test_all.py::test_good[ada]",
    ]
    assert not (study.root / "runs").exists()


def test_claims_run_on_the_subjects_they_apply_to(study):
    """A subject outside applies_to is not applicable, not missing."""
    study.claim("good", applies_to="{trained: {equals: true}}")
    study.claim("nobody", applies_to="{layers: {above: 100}}")
    study.register()
    run = study.run("claims")
    assert run.code == 0, run.output
    assert list(run.verdicts) == [("good", "ada")]
    assert not run.provenance["partial"]


def test_mistakes_of_a_claim_are_named_at_collection(study):
    """The message names the file, the key and what is allowed, without a traceback; other claims still load."""
    study.claim("good")
    study.claim("odd", protocol="{texts: 1, value: 0.9, lenght: 3}", file="test_odd.py")
    study.claim("ghost", file="test_ghost.py")
    (study.root / "prereg" / "ghost.yaml").unlink()
    run = study.run("claims")
    assert run.code == 2
    assert (
        "prereg/odd.yaml: protocol: unknown key 'lenght'; allowed: available_texts, count, texts, value" in run.output
    )
    assert "no claim 'ghost'" in run.output
    assert "Traceback" not in run.output
    only = study.run("claims/test_all.py", "--subject=ada")
    assert only.words == {"good[ada]": "SUPPORTED EXPLORATORY"}


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("place", ["fake_evidence:Nobody", "fake_evidenc:Numbers"])
def test_a_view_that_is_not_there_is_a_mistake_of_the_study(study, place, workers):
    """The hook's path is the user's: exit 4 and one line, no internal error."""
    study.claim("good")
    study.write("conftest.py", (study.root / "conftest.py").read_text().replace("fake_evidence:Numbers", place))
    run = study.run("-n", workers)
    assert run.code == 4, run.output
    assert f"view 'numbers': {place} can't be imported" in run.output
    assert "INTERNALERROR" not in run.output
    assert "Traceback" not in run.output


def test_a_null_that_is_not_drawn_is_refused_at_collection(study):
    """Not in each of a hundred shards."""
    evidence = (study.root / "fake_evidence.py").read_text()
    study.write(
        "fake_evidence.py",
        evidence.replace('"count",', '"count", "nulls",').replace(
            "    protocol_keys", "    null_kinds = frozenset({'shuffle'})\n    protocol_keys"
        ),
    )
    study.claim("good", protocol="{texts: 1, value: 0.9, nulls: {shufle: 4}}")
    run = study.run()
    assert run.code == 2
    assert "prereg/good.yaml: protocol.nulls: unknown null 'shufle'; allowed: shuffle" in run.output
    assert study.computed("begin") == []


def test_a_protocol_of_which_nothing_can_be_planned_fails_its_claim_alone(study):
    """A missing key ended the whole session."""
    study.claim("good", texts=1)
    study.claim("odd", protocol="{value: 0.9}")
    run = study.run("--subject=ada")
    assert run.code == 1
    assert run.words == {"good[ada]": "SUPPORTED EXPLORATORY"}
    assert "prereg/odd.yaml: protocol: missing key 'texts'" in run.output
    assert "INTERNALERROR" not in run.output


def test_the_plugin_is_inert_outside_the_claims(study):
    """`pytest tests` must work whatever state the registry is in, and leave no run behind."""
    study.claim("good")
    study.register()
    study.write("prereg/good.yaml", "broken: [")
    study.write("tests/test_other.py", "def test_other():\n    pass\n")
    run = study.run("tests")
    assert run.code == 0, run.output
    assert "verdicts" not in run.output
    assert not (study.root / "runs").exists()
    assert study.run("claims").code == 4


def test_options_that_name_nothing_are_refused_at_once(study):
    """Exit 4 with the allowed names, before any worker starts."""
    study.claim("good")
    study.register()
    unknown = study.run("claims", "--subject=nobody")
    assert unknown.code == 4
    assert "ada, bell, ghost" in unknown.output
    cohort = study.run("claims", "--cohort=nobody")
    assert cohort.code == 4
    assert "embedded, absent" in cohort.output
    assert study.run("claims", "--texts=0").code == 4


def test_what_is_counted_is_what_is_shown(study):
    """A claim that applies to nobody was counted as collected, and not shown."""
    study.claim("good", texts=1)
    study.claim("nobody", applies_to="{layers: {above: 100}}")
    run = study.run("claims", "--collect-only", "-q", "--subject=ada", "-k", "good or nobody")
    assert "1/2 tests collected (1 deselected)" in run.output


def test_the_plan_is_told_without_running(study):
    """`--resolvent-plan` counts shards and matrices; nothing is computed, no run is left."""
    study.claim("good", texts=3)
    study.register()
    run = study.run("claims", "--resolvent-plan", "-n", "4")
    assert run.code == 0, run.output
    assert "12 are missing" in run.output
    assert "12 matrices" in run.output
    assert "with 4 processes" in run.output
    assert study.computed("begin") == []
    assert not (study.root / "runs").exists()
