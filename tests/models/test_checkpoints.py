"""Checkpoints of a series: the stages read the very step they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Call, Shard
from resolvent.evidence.stages.capture import capture_block, capture_shard
from resolvent.evidence.stages.common import step_of
from resolvent.evidence.stages.rotation import DRAWS, rotation_shard, rotation_table
from resolvent.keyed_random import generator
from resolvent.models.load import load_model
from resolvent.models.subjects import Series, SubjectEntry, local_subject
from resolvent.models.weights import query_key_weights
from resolvent.operators.scoring_null import rotational_deficit
from resolvent.study import Study


def call(shard: Shard, subject: Any, study: Study) -> Call:
    return Call(study=study, subject=subject, params=shard.params, inputs=(), seed=7, device="cpu")


def series_of(folder: Path) -> tuple[Any, Study]:
    """A local model with checkpoints of steps 0, 2 and 5; the last is the model itself."""
    steps = (0, 2, 5)
    for step, scale in zip(steps, (0.1, 0.2, 0.3), strict=True):
        target = folder / "model" / (f"step{step}" if step != steps[-1] else "")
        tiny_models.save(target, initializer_range=scale)
    series = Series(revision="step{}", steps=steps, tokens_per_step=10)
    subject = local_subject(folder / "model", name="tiny", overrides=SubjectEntry(local="model", series=series))
    return subject, Study(root=folder, evidence=folder / "evidence", fetched=folder / "fetched")


def test_weights_are_those_of_the_checkpoint_under_the_registered_key(tmp_path: Path) -> None:
    """haar | subject | checkpoint step | layer | head | draw, and the weights of that very step."""
    subject, study = series_of(tmp_path)
    shard = rotation_shard(subject.name, checkpoint="2")
    table = rotation_table(call(shard, subject, study)).arrays
    query, key = query_key_weights(load_model(study, subject, step=2), 1)
    rngs = [generator(7, "haar", "tiny", "2", 1, 3, draw) for draw in range(DRAWS)]
    row = (table["layer"] == 1) & (table["head"] == 3)
    assert table["d_head"][row].item() == rotational_deficit(query[3], key[3], rngs)
    assert len(table["d_head"]) == subject.layers * subject.heads
    final = rotation_table(call(rotation_shard(subject.name), subject, study)).arrays
    assert not np.array_equal(final["d_head"], table["d_head"])


def test_a_capture_of_a_step_is_that_checkpoints(tmp_path: Path) -> None:
    """The last step of a series is the model itself; the others are their own folders."""
    subject, study = series_of(tmp_path)
    (tmp_path / "prereg").mkdir()
    (tmp_path / "prereg" / "subjects.yaml").write_text(
        "seed: 7\ntexts:\n  repeat_probe: {generated: repeat}\ncohorts: {}\nsubjects: {}\n"
    )

    def maps(checkpoint: str) -> np.ndarray:
        shard = capture_shard("tiny", state="repeat_probe", captured=0, repeat=5, checkpoint=checkpoint)
        return np.asarray(capture_block(call(shard, subject, study)).arrays["attention"])

    np.testing.assert_array_equal(maps("5"), maps("final"))
    assert not np.array_equal(maps("0"), maps("2"))
    assert not np.array_equal(maps("2"), maps("5"))


def test_a_step_that_the_series_lacks_is_named(tmp_path: Path) -> None:
    """A wrong step must not fall back to the final weights."""
    subject, study = series_of(tmp_path)
    with pytest.raises(ResolventError, match="tiny: no checkpoint of step 3; its series has: 0, 2, 5"):
        load_model(study, subject, step=3)
    assert (step_of("final"), step_of("512")) == (None, 512)


def test_a_checkpoint_is_part_of_a_local_models_identity(tmp_path: Path) -> None:
    """Its evidence must be computed again when any checkpoint is replaced, and it is missing where one is."""
    subject, study = series_of(tmp_path)
    assert subject.checkpoints == 3
    assert subject.available(study) is None
    before = subject.identity()
    tiny_models.save(tmp_path / "model" / "step2", initializer_range=0.7)
    assert subject.identity() != before
    (tmp_path / "model" / "step2" / "config.json").unlink()
    assert "tiny: its checkpoint of step 2 is not in" in str(subject.available(study))


def test_the_size_of_a_subject_is_that_of_all_its_checkpoints(tmp_path: Path) -> None:
    """What `resolvent subjects` shows: how much is here, and from where."""
    subject, study = series_of(tmp_path)
    weights = list((tmp_path / "model").rglob("*.safetensors"))
    assert len(weights) == 3
    assert subject.weights_on_disk(study) == sum(file.stat().st_size for file in weights)
    assert subject.origin() == f"the directory {tmp_path / 'model'}"
