"""Stages on planted attention: the same numbers as the operators give, and errors that say what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resolvent.evidence.planted import PlantedError, PlantedEvidence
from resolvent.evidence.stages.battery import battery_shard, null_shard
from resolvent.evidence.stages.capture import capture_shard
from resolvent.evidence.stages.common import Block
from resolvent.models.subjects import Subject
from resolvent.operators import CausalStochasticError, battery
from resolvent.study import Study

TEXTS, LAYERS, HEADS, N = 10, 2, 3, 128
BLOCK = Block(0, 0, 8)

SUBJECT = Subject(
    name="planted", entry={}, source="local", bos=0, corpus="planted", trained=True, norm="rmsnorm", positions="rope",
    layers=LAYERS, heads=HEADS,
)  # fmt: skip


def rows(*shape: int) -> np.ndarray:
    maps = np.tril(np.random.default_rng(3).random(shape)).astype(np.float32).astype(np.float64)
    return maps / maps.sum(axis=-1, keepdims=True)


def evidence(**maps: np.ndarray) -> PlantedEvidence:
    nowhere = Path("nowhere")
    return PlantedEvidence(Study(nowhere, nowhere, nowhere), SUBJECT, maps, seed=7)


def test_the_battery_of_planted_maps_is_that_of_the_operators() -> None:
    """What a claim's test sees is what anybody gets from the library; capture keeps float32."""
    maps = rows(TEXTS, LAYERS, HEADS, N, N)
    shard = battery_shard("planted", 6, BLOCK, state="corpus", length=64, repeat=None)
    found = evidence(corpus=maps).load(shard).arrays
    direct = battery(maps[:8, :, :, :64, :64] / maps[:8, :, :, :64, :64].sum(axis=-1, keepdims=True))
    assert np.allclose(found["kreiss"], direct["kreiss"].reshape(-1), rtol=1e-5)
    assert found["text"].tolist() == np.repeat(np.arange(8), 6).tolist()


def test_the_last_block_has_what_is_left() -> None:
    """As a corpus that runs out; beyond it there is nothing."""
    planted = evidence(corpus=rows(TEXTS, LAYERS, HEADS, N, N))
    for captured, left in ((0, 8), (8, 2), (16, 0)):
        shard = capture_shard("planted", state="corpus", captured=captured, repeat=None)
        assert len(planted.load(shard).arrays["attention"]) == left


def test_null_draws_are_keyed() -> None:
    """The same seed, the same draws, whoever asks first."""
    maps = rows(TEXTS, LAYERS, HEADS, N, N)
    shards = [
        null_shard(
            "planted", 6, Block(8, 8, 10), state="corpus", length=32, repeat=None, kind="row_permutation", draw=draw,
            growth_ratio=1.05,
        )
        for draw in (0, 1)
    ]  # fmt: skip
    first, second = (evidence(corpus=maps) for _ in range(2))
    backwards = [second.load(shard).arrays["kreiss"] for shard in reversed(shards)][::-1]
    forwards = [first.load(shard).arrays["kreiss"] for shard in shards]
    assert np.array_equal(forwards, backwards)
    assert not np.array_equal(forwards[0], forwards[1])


def test_other_states_and_lengths_are_refused() -> None:
    """By name, with what is there."""
    planted = evidence(corpus=rows(TEXTS, LAYERS, HEADS, N, N), repeat_probe=rows(1, LAYERS, HEADS, 64, 64))
    with pytest.raises(PlantedError, match="no maps of the state 'random_probe'; planted are corpus, repeat_probe"):
        planted.load(capture_shard("planted", state="random_probe", captured=0, repeat=60))
    with pytest.raises(PlantedError, match="n = 64; it is captured at 121"):
        planted.load(capture_shard("planted", state="repeat_probe", captured=0, repeat=60))


def test_maps_must_be_attention_of_the_subject() -> None:
    """Causal, stochastic, of its layers and heads."""
    with pytest.raises(PlantedError, match=r"allowed: \(texts, 2, 3, n, n\)"):
        evidence(corpus=rows(TEXTS, HEADS, LAYERS, 8, 8))
    broken = rows(2, LAYERS, HEADS, 8, 8)
    broken[1, 1, 2, 3, 0] += 0.5
    with pytest.raises(CausalStochasticError, match="planted corpus, text 1, layer 1, head 2"):
        evidence(corpus=broken)
