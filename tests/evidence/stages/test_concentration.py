"""Column concentration on planted maps."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from resolvent.evidence.shards import Call, Result, Shard
from resolvent.evidence.stages.common import Block
from resolvent.evidence.stages.concentration import concentration_block, concentration_shard
from resolvent.operators import pack_lower

SUBJECT: Any = SimpleNamespace(name="made-up", layers=1, heads=2)


def call(shard: Shard, *inputs: Result) -> Call:
    return Call(study=None, subject=SUBJECT, params=shard.params, inputs=inputs, seed=7, device="cpu")  # type: ignore[arg-type]


def captured(maps: np.ndarray) -> Result:
    ids = [str(i) for i in range(len(maps))]
    metadata = {"start": "0", "length": str(maps.shape[-1]), "text_ids": json.dumps(ids)}
    return Result({"attention": pack_lower(maps.astype(np.float32))}, metadata)


@pytest.mark.parametrize(("columns", "share"), [(1, 0.5), (2, 0.8125), (3, 0.9375), (4, 1.0)])
def test_the_heaviest_columns_are_counted(columns: int, share: float) -> None:
    """Half on BOS, a quarter on token 1, a quarter on the row before that: 2, 1.25, 0.5 and 0.25 of 4 by hand."""
    n = 5
    maps = np.zeros((1, 1, 2, n, n))
    maps[..., 0, 0] = 1
    maps[0, 0, 0, 1:, 0] = 0.5
    maps[0, 0, 0, 1:, 1] = 0.25
    for row, column in ((1, 1), (2, 2), (3, 2), (4, 3)):
        maps[0, 0, 0, row, column] += 0.25
    maps[0, 0, 1] = np.eye(n)
    shard = concentration_shard(
        "made-up", 2, Block(0, 0, 1), state="corpus", length=n, repeat=None, columns=columns, checkpoint="2"
    )
    assert shard.id == "concentration[made-up/corpus@5/step2/0-0]"
    found = concentration_block(call(shard, captured(maps))).arrays["top_column_share"]
    assert found[0] == pytest.approx(share)
    assert found[1] == pytest.approx(columns / (n - 1)), "the diagonal has no heavy column"


def test_all_columns_together_have_all_the_mass() -> None:
    """Shares of more columns than there are sum to 1 whatever the head does."""
    rng = np.random.default_rng(0)
    maps = np.tril(rng.random((2, 1, 2, 6, 6)) + 0.01)
    maps /= maps.sum(axis=-1, keepdims=True)
    shard = concentration_shard("made-up", 2, Block(0, 0, 2), state="corpus", length=6, repeat=None, columns=8)
    np.testing.assert_allclose(concentration_block(call(shard, captured(maps))).arrays["top_column_share"], 1)
