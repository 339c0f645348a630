"""Power norms of real maps: survival at several steps, persistence at one."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard
from resolvent.evidence.stages.common import Block
from resolvent.evidence.stages.powers import (
    persistence_block,
    persistence_shard,
    survival_block,
    survival_shard,
)
from resolvent.operators import pack_lower

LAYERS, HEADS, TEXTS, LENGTH = 2, 3, 3, 9
SUBJECT: Any = SimpleNamespace(name="made-up", layers=LAYERS, heads=HEADS)
POWERS = (1, 2, 5)


def attention() -> np.ndarray:
    """Causal softmax maps (texts, layers, heads, n, n); the last head of the last text puts all mass on BOS."""
    weights = np.tril(np.exp(np.random.default_rng(0).standard_normal((TEXTS, LAYERS, HEADS, LENGTH, LENGTH))))
    weights[-1, -1, -1] = np.eye(LENGTH)[0]
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def shard_of(make: Any, *, stop: int = TEXTS, length: int = LENGTH, **more: Any) -> Shard:
    block = Block(0, 0, stop)
    return make(SUBJECT.name, LAYERS * HEADS, block, state="corpus", length=length, repeat=None, **more)


def called(function: Any, shard: Shard) -> dict[str, np.ndarray]:
    maps = attention()
    metadata = {"start": "0", "length": str(LENGTH), "text_ids": json.dumps([str(i) for i in range(TEXTS)])}
    capture = Result({"attention": pack_lower(maps)}, metadata)
    call = Call(study=None, subject=SUBJECT, params=shard.params, inputs=(capture,), seed=7, device="cpu")  # type: ignore[arg-type]
    return dict(function(call).arrays)


def power(row: int, k: int, length: int = LENGTH) -> np.ndarray:
    """A_dev^k of one row of a table, by plain products."""
    matrix = attention().reshape(-1, LENGTH, LENGTH)[row, :length, :length].astype(np.float64)
    matrix /= matrix.sum(axis=1, keepdims=True)
    matrix[:, 0] -= 1
    return np.linalg.matrix_power(matrix, k)


def test_survival_is_the_norm_of_what_is_left_of_the_killed_chain() -> None:
    """log10 ||B^k 1|| with B the maps without BOS, a column a power; −inf where the first step kills all."""
    table = called(survival_block, shard_of(survival_shard, powers=POWERS))
    assert len(table["text"]) == TEXTS * LAYERS * HEADS
    for k in POWERS:
        found = table[f"log10_survival_{k}"]
        for row in (0, 4, 11):
            alive = power(row, k)[1:, 1:].sum(axis=1)
            np.testing.assert_allclose(found[row], np.log10(np.linalg.norm(alive)), rtol=1e-6)
        assert found[-1] == -np.inf


def test_persistence_is_the_norm_of_one_power() -> None:
    """log10 ||A_dev^k||₂ at the k asked for, on the leading block where the length is shorter."""
    table = called(persistence_block, shard_of(persistence_shard, power=3))
    for row in (0, 7, 13):
        expected = np.log10(np.linalg.norm(power(row, 3), 2))
        np.testing.assert_allclose(table["log10_persistence"][row], expected, rtol=1e-6)
    assert table["log10_persistence"][-1] == -np.inf
    shorter = called(persistence_block, shard_of(persistence_shard, power=3, length=6))
    expected = np.log10(np.linalg.norm(power(5, 3, 6), 2))
    np.testing.assert_allclose(shorter["log10_persistence"][5], expected, rtol=1e-6)


def test_shards_of_two_depths_are_told_apart() -> None:
    """Subjects of different depth ask for different powers of the same maps."""
    assert shard_of(persistence_shard, power=3).id != shard_of(persistence_shard, power=4).id
    assert shard_of(survival_shard, powers=POWERS).id == "survival[made-up/corpus@9/0-2]"
