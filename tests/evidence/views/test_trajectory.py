"""Trajectories on planted tables: every checkpoint its own shards, medians over texts, heads in order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from planted_trajectory import COUNT, LAYERS, STEPS, SUBJECT, loader

from resolvent.errors import ResolventError
from resolvent.evidence.views import TooFewTexts
from resolvent.evidence.views.trajectory import (
    ConcentrationTrajectory,
    ScoreTrajectory,
    Trajectory,
    WeightTrajectory,
)
from resolvent.operators import kreiss_from_bos_mass

PROTOCOL: dict[str, Any] = {
    "text": ["corpus", "repeat_probe"],
    "repeat": 60,
    "length": 121,
    "texts": 16,
    "score_texts": 8,
    "nulls": {"row_permutation": 2},
    "classes": {"induction": 0.4, "previous_token": 0.5},
    "columns": 8,
}
HEADS = np.arange(COUNT)


def shards(view: Any, protocol: dict[str, Any] = PROTOCOL) -> list[Any]:
    return list(view.shards(SUBJECT, None, protocol))


def test_every_checkpoint_has_its_own_shards():
    """They are independent, so that workers share them; no two checkpoints may share a capture."""
    found = shards(Trajectory)
    assert len(found) == len(STEPS) * 2 * 3  # two blocks of eight texts; real and two draws
    assert len({shard.id for shard in found}) == len(found)
    captures = {given.id for shard in found for given in shard.inputs}
    assert len(captures) == len(STEPS) * 2
    assert "battery[planted/corpus@121/step93/0-7]" in {shard.id for shard in found}
    assert "nulls[planted/corpus@121/step0/row_permutation.1/8-15]" in {shard.id for shard in found}


def test_scores_need_no_battery():
    """The probe is captured and scored; its batteries would double the work for nothing."""
    found = shards(ScoreTrajectory)
    assert {shard.stage.name for shard in found} == {"behaviour"}
    assert {given.stage.name for shard in found for given in shard.inputs} == {"capture"}
    assert {shard.params["start"] for shard in found} == {32}
    assert len(found) == len(STEPS)


def test_weights_need_no_text():
    """One shard a checkpoint, without inputs."""
    found = shards(WeightTrajectory)
    assert [shard.id for shard in found[:2]] == ["rotation[planted/heads/step0]", "rotation[planted/heads/step16]"]
    assert not any(shard.inputs for shard in found)


def test_medians_are_per_checkpoint_and_head():
    """Rows come shuffled and one text is wild."""
    load = loader({"bos_mass": lambda at, head: at / 100 + head / 1000})
    found = Trajectory(SUBJECT, None, PROTOCOL, load)
    np.testing.assert_allclose(found.median("bos_mass"), np.arange(13)[:, None] / 100 + HEADS / 1000)
    assert found.steps == STEPS
    assert found.layer.tolist() == np.repeat(np.arange(LAYERS), 8).tolist()


def test_excess_is_over_the_nulls_of_the_same_checkpoint():
    """The null changes over training too."""
    load = loader({"kreiss": lambda at, head: 2.0 ** (at + 1), "null_kreiss": lambda at, head: 2.0 ** (2 * at + 1)})
    found = Trajectory(SUBJECT, None, PROTOCOL, load)
    np.testing.assert_allclose(found.excess("row_permutation"), np.tile(-np.arange(13.0)[:, None], COUNT))
    np.testing.assert_allclose(found.log2_kreiss[:, 0], np.arange(13) + 1)


def test_the_law_is_the_closed_form_at_the_length_of_the_protocol():
    """Pattern and damping must stand on one scale."""
    load = loader({"bos_mass": lambda at, head: np.full(len(head), at / 13)})
    found = Trajectory(SUBJECT, None, PROTOCOL, load)
    np.testing.assert_allclose(found.log2_law[:, 5], np.log2(kreiss_from_bos_mass(np.arange(13) / 13, 121)))


def test_classes_are_those_of_the_last_checkpoint():
    """A head that was an induction head on the way and is none at the end is none."""
    load = loader(
        {
            "induction_score": lambda at, head: np.where(head == at, 0.9, 0.1),
            "previous_token_mass": lambda at, head: np.where(head < at, 0.6, 0.2),
        }
    )
    assert np.flatnonzero(ScoreTrajectory(SUBJECT, None, PROTOCOL, load).induction_heads).tolist() == [12]
    assert np.flatnonzero(Trajectory(SUBJECT, None, PROTOCOL, load).previous_token_heads).tolist() == list(range(12))


def test_weights_and_concentration_are_in_the_order_of_heads():
    """Heads are numbered layer by layer whatever the order of the rows."""
    load = loader({"d_head": lambda at, head: -at - head, "top_column_share": lambda at, head: head / 100})
    d_head = WeightTrajectory(SUBJECT, None, PROTOCOL, load).d_head
    np.testing.assert_array_equal(d_head, -np.arange(13)[:, None] - HEADS)
    share = ConcentrationTrajectory(SUBJECT, None, PROTOCOL, load).top_column_share
    np.testing.assert_allclose(share[4], HEADS / 100)


def test_a_subject_without_checkpoints_is_named():
    """applies_to keeps such a claim away; a mistake there must not look like an empty trajectory."""
    alone = SimpleNamespace(**{**vars(SUBJECT), "series": None})
    with pytest.raises(ResolventError, match="planted: no series of checkpoints"):
        Trajectory.shards(alone, None, PROTOCOL)


def test_too_few_texts_are_counted_and_a_wrong_state_refused():
    """Both would otherwise be silent."""
    with pytest.raises(TooFewTexts, match="9 texts, 16 needed"):
        Trajectory(SUBJECT, None, PROTOCOL, loader({}, texts=9))
    with pytest.raises(ResolventError, match="a trajectory is measured on the corpus"):
        Trajectory(SUBJECT, None, {**PROTOCOL, "text": "repeat_probe"}, loader({}))
