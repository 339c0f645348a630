"""The clamp stage: the dims of the largest magnitudes at BOS, or as many keyed random ones, held at every boundary."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from model_calls import LENGTH, TinyStudy

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Result
from resolvent.evidence.stages.clamp import clamp_shard
from resolvent.evidence.stages.common import blocks
from resolvent.keyed_random import generator
from resolvent.models.capture import capture
from resolvent.models.intervene.clamp import clamp
from resolvent.operators import battery, unpack_lower

TEXTS = 10


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyStudy:
    return TinyStudy(tmp_path_factory.mktemp("tiny"), texts=TEXTS)


def clamped(tiny: TinyStudy, mode: str, block: int = 0, **more: Any) -> Result:
    cut = list(blocks(0, TEXTS))
    shard = clamp_shard(
        tiny.subject.name,
        12,
        cut[block],
        chosen_on=cut,
        state="corpus",
        length=LENGTH,
        repeat=None,
        dims=3,
        mode=mode,
        **more,
    )
    return tiny.load(shard)


def massive_dims(tiny: TinyStudy) -> list[int]:
    streams = capture(tiny.loaded, tiny.token_ids, boundaries=True).boundaries
    return np.argsort(-np.abs(streams[:, :, 0]).max(axis=(0, 1)))[:3].tolist()


def test_heads_are_those_of_the_clamped_model(tiny: TinyStudy):
    """Row by row: the battery of the maps, and the loss, that a capture within the clamp gives."""
    result = clamped(tiny, "zero")
    with clamp(tiny.loaded, massive_dims(tiny)):
        expected = capture(tiny.loaded, tiny.token_ids[:8])
    maps = unpack_lower(expected.attention, LENGTH).astype(np.float64)
    columns = battery(maps / maps.sum(axis=-1, keepdims=True))
    table = result.arrays
    for name in ("kreiss", "bos_mass", "diagonal_mass", "previous_token_mass", "row_entropy"):
        np.testing.assert_allclose(table[name].reshape(8, 3, 4), columns[name], rtol=1e-6)
    np.testing.assert_allclose(
        table["cross_entropy"].reshape(8, 12), np.tile(expected.cross_entropy.mean(axis=1)[:, None], 12), rtol=1e-6
    )
    assert json.loads(result.metadata["dims"]) == massive_dims(tiny)
    receipt = json.loads(result.metadata["receipt"])
    assert [change["place"] for change in receipt["changes"]] == [f"boundary {b}" for b in range(4)]
    assert all(change["largest"] > 0 for change in receipt["changes"])


def test_every_block_has_the_dims_of_all_texts(tiny: TinyStudy):
    """A block that chose its own dims would measure another intervention."""
    late = clamped(tiny, "zero", block=1)
    assert sorted(set(late.arrays["text"])) == [8, 9]
    assert json.loads(late.metadata["dims"]) == massive_dims(tiny)


def test_medians_are_over_positions_and_texts_of_each_boundary(tiny: TinyStudy):
    """All protocol texts together, not those of the block alone."""
    dims = massive_dims(tiny)
    streams = capture(tiny.loaded, tiny.token_ids, boundaries=True).boundaries
    levels = np.median(streams[..., dims], axis=(0, 2))
    with clamp(tiny.loaded, dims, levels):
        expected = capture(tiny.loaded, tiny.token_ids[8:])
    table = clamped(tiny, "boundary_median", block=1).arrays
    np.testing.assert_allclose(table["cross_entropy"][::12], expected.cross_entropy.mean(axis=1), rtol=1e-5)
    assert np.abs(table["cross_entropy"] - clamped(tiny, "zero", block=1).arrays["cross_entropy"]).max() > 1e-4


def test_controls_are_drawn_under_the_registered_key(tiny: TinyStudy):
    """dims | subject | draw, out of the dims that are not massive."""
    massive = massive_dims(tiny)
    drawn = [json.loads(clamped(tiny, "random", draw=draw).metadata["dims"]) for draw in range(3)]
    ordinary = [dim for dim in range(32) if dim not in massive]
    for draw, dims in enumerate(drawn):
        rng = generator(7, "dims", tiny.subject.name, draw)
        assert dims == rng.choice(ordinary, size=3, replace=False).tolist()
        assert not set(dims) & set(massive)
    assert drawn[0] != drawn[1]


def test_an_unknown_mode_is_refused(tiny: TinyStudy):
    """A protocol that asks for something else must not get zeros."""
    with pytest.raises(ResolventError, match="mode mean is unknown; allowed: zero, boundary_median"):
        clamped(tiny, "mean")
