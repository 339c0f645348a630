"""The claims of training time on a tiny run of eight checkpoints, through the front door."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_study import HEADS, LAYERS, make_study, run_study, verdicts

STEPS = (0, 1, 2, 4, 8, 16, 32, 64)
CLAIMS = {
    "consolidation",
    "consolidation_timing",
    "pattern_precedes_function",
    "pattern_leads_function",
    "no_damping_without_concentration",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with one more subject: the tiny model and seven checkpoints with ever weaker queries."""
    root = make_study(tmp_path_factory.mktemp("study") / "tiny")
    file = root / "prereg" / "subjects.yaml"
    content = yaml.safe_load(file.read_text())
    series = {"revision": "step{}", "steps": list(STEPS), "tokens_per_step": 128}
    content["subjects"]["run"] = {**content["subjects"]["tiny"], "series": series, "checkpoints": len(STEPS)}
    # The registered entries must stay as they are, to the comment.
    added = yaml.safe_dump({"run": content["subjects"]["run"]}, default_flow_style=None)
    file.write_text(file.read_text() + "".join(f"  {line}\n" for line in added.splitlines()))
    fetched = root / ".fetched"
    shutil.copytree(fetched / "models" / "tiny", fetched / "models" / "run")
    for place, step in enumerate(STEPS[:-1]):
        weaken(fetched / "models" / "tiny", fetched / "checkpoints" / "run" / f"step{step}", place / len(STEPS))
    return root


def weaken(model: Path, target: Path, factor: float) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    weaker = AutoModelForCausalLM.from_pretrained(model)
    with torch.no_grad():
        for name, parameter in weaker.named_parameters():
            if name.endswith("q_proj.weight"):
                parameter.mul_(factor)
                parameter.add_(1e-3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)))
    weaker.save_pretrained(target)
    AutoTokenizer.from_pretrained(model).save_pretrained(target)


@pytest.fixture(scope="module")
def ran(study: Path) -> dict[str, dict[str, Any]]:
    """The lines of one run on two workers, by claim."""
    run_study(study, "-n", "2", "--subject=run", "claims/test_training.py")
    return {line["claim"]: line for line in verdicts(study)}


def sidecars(study: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in (study / ".evidence" / "shards").glob("*.json")]


def test_every_claim_of_training_time_gets_a_verdict(ran: dict[str, dict[str, Any]]) -> None:
    """Protocol, views, stages and test fit together for each; random weights form nothing, which is a verdict too."""
    assert set(ran) == CLAIMS
    assert {line["verdict"] for line in ran.values()} <= {"supported", "refuted", "undecided", "inestimable"}
    assert ran["consolidation"]["metrics"]["induction_heads"] == 0
    assert ran["consolidation"]["verdict"] == "inestimable"


def test_each_checkpoint_has_its_own_evidence(study: Path, ran: dict[str, dict[str, Any]]) -> None:
    """One shard set a checkpoint, so that workers share them."""
    captures = [shard for shard in sidecars(study) if shard["stage"] == "capture"]
    states = {(shard["params"]["checkpoint"], shard["params"]["state"]) for shard in captures}
    assert states == {(str(step), state) for step in STEPS for state in ("corpus", "repeat_probe")}
    rotations = [shard for shard in sidecars(study) if shard["stage"] == "rotation"]
    assert {shard["params"]["checkpoint"] for shard in rotations} == {str(step) for step in STEPS}


def test_the_checkpoints_are_different_models(study: Path, ran: dict[str, dict[str, Any]]) -> None:
    """Without queries attention is uniform: the first checkpoint sits at its null, whatever the last one does."""
    from resolvent.evidence.engine import Engine
    from resolvent.evidence.views.trajectory import Trajectory
    from resolvent.models.subjects import load_subjects
    from resolvent.registry import load_claim
    from resolvent.study import open_study

    opened = open_study(study)
    subjects = load_subjects(opened)
    protocol = load_claim(study / "prereg" / "no_damping_without_concentration.yaml").protocol
    engine = Engine(opened, subjects, run_id="look")
    view = Trajectory(subjects.subject("run"), subjects, protocol, engine.load)
    entropy = view.median("normalised_entropy")
    assert entropy.shape == (len(STEPS), LAYERS * HEADS)
    assert entropy[0].min() > 0.99
    assert entropy[-1].mean() < entropy[3].mean() < entropy[0].mean()
    assert not engine.account()["computed"], "the run has computed all of it"
