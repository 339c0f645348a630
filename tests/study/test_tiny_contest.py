"""The contest's claims on a tiny random model of 96 heads, through the front door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_study import make_study, run_study, verdicts

from resolvent.registry import load_claim

CLAIMS = sorted(path.stem for path in (Path(__file__).resolve().parents[2] / "prereg").glob("contest_*.yaml"))
ARGUMENTS = ("-k", "contest", "--texts=8")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("study") / "contest", layers=12, heads=8)


@pytest.fixture(scope="module")
def undisturbed(study: Path) -> bytes:
    """The verdict file of a run without workers."""
    run_study(study, *ARGUMENTS, f"--evidence-dir={study / 'first'}")
    return verdict_file(study)


def verdict_file(root: Path) -> bytes:
    return (root / "runs" / "latest" / "verdicts.jsonl").read_bytes()


@pytest.fixture
def lines(study: Path, undisturbed: bytes) -> dict[str, dict[str, Any]]:
    return {line["claim"]: line for line in verdicts(study)}


def test_every_target_is_contested_to_a_verdict(lines: dict[str, dict[str, Any]]) -> None:
    """Model, evidence, features, folds, frozen criteria: nothing between them may be missing."""
    assert sorted(lines) == CLAIMS
    assert len(CLAIMS) == 9
    for name, line in lines.items():
        assert line["verdict"] in {"supported", "refuted", "undecided", "inestimable"}
        assert line["metrics"]["total_heads"] == 96
        assert line["metrics"]["layers"] == 12
        if line["verdict"] != "inestimable":
            claim = load_claim(Path(__file__).resolve().parents[2] / "prereg" / f"{name}.yaml")
            assert [result["name"] for result in line["criteria"]] == list(claim.criteria)
    decided = [line for line in lines.values() if line["verdict"] != "inestimable"]
    assert len(decided) >= 7, "of a random model only few scores may be constant"


def test_each_claim_predicts_a_target_of_its_own(lines: dict[str, dict[str, Any]]) -> None:
    """A target read from the wrong table, or folds under another claim's key, would make two claims agree."""
    metrics = {name: line["metrics"] for name, line in lines.items() if line["verdict"] != "inestimable"}
    r2 = {name: of["r2_e_standardised"] for name, of in metrics.items()}
    assert len(set(r2.values())) == len(r2), "folds are the claim's own, so even one target has another R² in each"
    # What is left of a deviation after six steps is mostly a matter of how much goes to BOS in each.
    bos = {name: of["bos_mass_r2_standardised"] for name, of in metrics.items()}
    assert bos["contest_persistence"] > max(bos["contest_criticality"], bos["contest_induction"])
    assert metrics["contest_persistence"]["r2_p_rank_normal"] > 0.5


def test_the_page_shows_what_was_predicted_of_unseen_heads(study: Path, undisturbed: bytes) -> None:
    """Beside the intervals, predicted against true for the family that did best."""
    page = (study / "runs" / "latest" / "report.html").read_text(encoding="utf-8")
    decided = [line for line in verdicts(study) if line["verdict"] != "inestimable"]
    assert page.count("predicts unseen heads</") >= len(decided)


def test_workers_and_one_process_give_equal_files(study: Path, undisturbed: bytes) -> None:
    """Folds and resamples are keyed, never drawn in the order of computation."""
    run_study(study, "-n", "2", *ARGUMENTS, f"--evidence-dir={study / 'second'}")
    assert verdict_file(study) == undisturbed


def test_a_second_run_computes_no_evidence(study: Path, undisturbed: bytes) -> None:
    """All that the contest rests on is planned, computed once and found again."""
    result = run_study(study, "-v", *ARGUMENTS, f"--evidence-dir={study / 'first'}")
    assert "evidence::" not in result.stdout
    assert verdict_file(study) == undisturbed
