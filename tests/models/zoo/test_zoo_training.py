"""Training: the same bits again, resumed or not; checkpoints, losses and refusals."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from filelock import FileLock
from zoo_builders import corpus, recipe

from resolvent.models.zoo.corpus import TrainingCorpus
from resolvent.models.zoo.families import RECIPES, checkpoint_steps
from resolvent.models.zoo.training import (
    Progress,
    TrainingError,
    checkpoint_file,
    load_weights,
    loss_curve,
    run_facts,
    train,
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> TrainingCorpus:
    return corpus(tmp_path_factory.mktemp("corpus"))


class Stopped(Exception):
    """Takes the place of a kill: raised in the middle of a run, with nothing saved since the last time."""


def stop_at(step: int) -> Any:
    def progress(now: Progress) -> None:
        if now.step == step:
            raise Stopped

    return progress


def assert_equal_runs(one: Path, other: Path, steps: tuple[int, ...]) -> None:
    for step in steps:
        first, second = load_weights(checkpoint_file(one, step)), load_weights(checkpoint_file(other, step))
        assert first.keys() == second.keys()
        assert all(torch.equal(first[name], second[name]) for name in first), f"step {step}"
    assert loss_curve(one) == loss_curve(other)


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_resumed_run_ends_with_the_bits_of_an_undisturbed_one(
    texts: TrainingCorpus, tmp_path: Path, name: str
) -> None:
    """Left off in good order after 7 steps, broken off at 13 with the last save behind it, then run to the end."""
    found = recipe(name)
    assert train(found, texts, tmp_path / "straight")
    assert not train(found, texts, tmp_path / "resumed", stop_after=7)
    with pytest.raises(Stopped):
        train(found, texts, tmp_path / "resumed", progress=stop_at(13))
    assert train(found, texts, tmp_path / "resumed")
    assert_equal_runs(tmp_path / "straight", tmp_path / "resumed", checkpoint_steps(found))


def test_a_run_broken_off_before_any_save_begins_again(texts: TrainingCorpus, tmp_path: Path) -> None:
    """Step 0 is kept once, and the loss curve has it once."""
    with pytest.raises(Stopped):
        train(recipe(), texts, tmp_path / "broken", progress=stop_at(2))
    assert train(recipe(), texts, tmp_path / "broken")
    assert train(recipe(), texts, tmp_path / "straight")
    assert_equal_runs(tmp_path / "straight", tmp_path / "broken", (0, 20))


def test_saves_in_between_change_nothing(texts: TrainingCorpus, tmp_path: Path) -> None:
    """How often a run saves depends on the clock, so it must not matter."""
    assert train(recipe(), texts, tmp_path / "often", save_seconds=0.0)
    assert train(recipe(), texts, tmp_path / "once")
    assert_equal_runs(tmp_path / "often", tmp_path / "once", checkpoint_steps(recipe()))


def test_exactly_the_scheduled_checkpoints_are_kept(texts: TrainingCorpus, tmp_path: Path) -> None:
    """Step 0 is the untrained model; the weights of every later one have moved."""
    train(recipe(), texts, tmp_path)
    steps = checkpoint_steps(recipe())
    assert steps == (0, 2, 6, 20)
    assert {file.name for file in (tmp_path / "checkpoints").iterdir()} == {f"step{step}.safetensors" for step in steps}
    name = "gpt_neox.layers.1.attention.query_key_value.weight"
    weights = [load_weights(checkpoint_file(tmp_path, step))[name] for step in steps]
    assert all(not torch.equal(one, other) for one, other in pairwise(weights))


def test_the_loss_falls_and_is_told(texts: TrainingCorpus, tmp_path: Path) -> None:
    """A loop that trains nothing would keep log 1024; every step is told once, in order."""
    told: list[Progress] = []
    long = recipe(steps=60, learning_rate=1e-2)
    train(long, texts, tmp_path, progress=told.append)
    assert [now.step for now in told] == list(range(1, 61))
    assert all(now.steps == 60 and now.tokens_per_second > 0 for now in told)
    curve = loss_curve(tmp_path)
    validation = dict(curve.validation)
    assert validation[0] == pytest.approx(np.log(1024), abs=0.1)
    assert validation[60] < validation[0] - 1
    assert set(checkpoint_steps(long)) <= set(validation)
    assert [step for step, _ in curve.training] == [50, 60]
    assert curve.training[0][1] == pytest.approx(np.mean([now.loss for now in told[:50]]), abs=1e-4)


def test_another_recipe_or_corpus_is_refused(texts: TrainingCorpus, tmp_path: Path) -> None:
    """Going on with other settings would give weights that no card describes."""
    train(recipe(), texts, tmp_path / "run", stop_after=2)
    with pytest.raises(TrainingError, match=r"another recipe .*steps: 20 there, 30 now"):
        train(recipe(steps=30), texts, tmp_path / "run")
    with pytest.raises(TrainingError, match=r"another threads .*1 there, 2 now"):
        train(recipe(), texts, tmp_path / "run", threads=2)
    with pytest.raises(TrainingError, match="another corpus"):
        train(recipe(), corpus(tmp_path / "other", seed=5), tmp_path / "run")


def test_a_folder_in_use_is_refused(texts: TrainingCorpus, tmp_path: Path) -> None:
    """Two processes would write over each other."""
    with FileLock(tmp_path / ".lock"), pytest.raises(TrainingError, match="another process trains here"):
        train(recipe(), texts, tmp_path)


def test_a_loss_that_is_not_finite_ends_the_run(texts: TrainingCorpus, tmp_path: Path) -> None:
    """Better an error than a checkpoint of NaN."""
    with pytest.raises(TrainingError, match=r"the loss is (nan|inf) at step"):
        train(recipe(learning_rate=1e30, clip=1e30), texts, tmp_path)


def test_a_run_records_what_determined_it_and_leaves_torch_alone(texts: TrainingCorpus, tmp_path: Path) -> None:
    """Recipe, corpus, threads, device, versions; the caller's number of threads is restored."""
    before = torch.get_num_threads()
    train(recipe(), texts, tmp_path, threads=1, stop_after=1)
    assert torch.get_num_threads() == before
    facts = run_facts(tmp_path)
    assert set(facts) == {"recipe", "corpus", "threads", "device", "versions"}
    assert facts["recipe"] == json.loads(json.dumps(recipe().to_json()))
    assert facts["corpus"]["tokens_sha256"] == texts.facts.tokens_sha256
    assert facts["threads"] == 1
    assert facts["versions"]["torch"] == torch.__version__
