"""Stage functions on made-up captures: what is measured on which matrix, and under which key it is drawn."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Call, Result, Shard
from resolvent.evidence.stages.battery import BATTERY, battery_block, battery_shard, null_block, null_shard
from resolvent.evidence.stages.behaviour import behaviour_block, behaviour_shard
from resolvent.evidence.stages.chain import chain_block, chain_shard
from resolvent.evidence.stages.common import Block, blocks
from resolvent.evidence.stages.depth import depth_block, depth_shard
from resolvent.evidence.stages.mask import mask_block, mask_shard
from resolvent.evidence.stages.transients import mode_block, mode_shard, residual_block, residual_shard
from resolvent.keyed_random import generator
from resolvent.operators import battery, depth_products, pack_lower, row_permutation

LAYERS, HEADS, TEXTS = 2, 3, 3
HEAD_COUNT = LAYERS * HEADS
LENGTH = 13
SUBJECT = SimpleNamespace(name="made-up", layers=LAYERS, heads=HEADS)
BLOCK = Block(0, 0, TEXTS)


def attention(seed: int = 0, n: int = LENGTH, texts: int = TEXTS) -> np.ndarray:
    """Causal softmax maps (texts, layers, heads, n, n) in float32."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((texts, LAYERS, HEADS, n, n))
    logits[..., 0] += 1.0
    weights = np.tril(np.exp(logits))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def captured(maps: np.ndarray, first: int = 0) -> Result:
    """A capture result of texts first, first + 1, …; text ids are hundreds."""
    n = maps.shape[-1]
    loss = np.random.default_rng(1).random((len(maps), n - 1)).astype(np.float32)
    ids = [str(100 * (first + i)) for i in range(len(maps))]
    metadata = {"start": str(first), "length": str(n), "text_ids": json.dumps(ids)}
    return Result({"attention": pack_lower(maps), "cross_entropy": loss}, metadata)


def call(shard: Shard, *inputs: Result, subject: Any = SUBJECT) -> Call:
    return Call(study=None, subject=subject, params=shard.params, inputs=inputs, seed=7, device="cpu")  # type: ignore[arg-type]


def shard_of(make: Any, *, state: str = "corpus", length: int = LENGTH, block: Block = BLOCK, **more: Any) -> Shard:
    return make(SUBJECT.name, HEAD_COUNT, block, state=state, length=length, repeat=None, **more)


def exact(maps: np.ndarray) -> np.ndarray:
    """The maps in float64, rows renormalised."""
    wide = maps.astype(np.float64)
    return wide / wide.sum(axis=-1, keepdims=True)


def test_blocks_follow_the_captures() -> None:
    """Claims with other numbers of texts must share the captures of the same texts."""
    assert [str(block) for block in blocks(0, 20)] == ["0-7", "8-15", "16-19"]
    assert list(blocks(32, 40)) == [Block(32, 32, 40)]
    assert list(blocks(0, 4)) == [Block(0, 0, 4)]
    assert list(blocks(6, 10)) == [Block(0, 6, 8), Block(8, 8, 10)]


def test_battery_rows_are_those_of_the_operators() -> None:
    """A row mixed up between heads or texts would give every later number to the wrong head."""
    maps = attention()
    table = battery_block(call(shard_of(battery_shard), captured(maps))).arrays
    expected = battery(exact(maps))
    assert len(table["text"]) == TEXTS * HEAD_COUNT
    for name in ("kreiss", "transient", "bos_mass", "log10_condition"):
        np.testing.assert_allclose(table[name].reshape(TEXTS, LAYERS, HEADS), expected[name], rtol=1e-12)
    assert set(table["text"]) == {0, 1, 2}


def test_a_shorter_length_is_the_leading_block() -> None:
    """A causal prefix of a longer map is exactly the map of the prefix."""
    maps = attention()
    table = battery_block(call(shard_of(battery_shard, length=6), captured(maps))).arrays
    expected = battery(exact(maps[..., :6, :6]))
    np.testing.assert_allclose(table["kreiss"].reshape(TEXTS, LAYERS, HEADS), expected["kreiss"], rtol=1e-9)


def test_a_longer_length_than_captured_is_refused() -> None:
    """It can't be computed, and must not silently be shorter."""
    with pytest.raises(ResolventError, match=r"length 14 .* captured at 13"):
        battery_block(call(shard_of(battery_shard, length=14), captured(attention())))


def test_a_bad_map_is_named() -> None:
    """The user must learn which text, layer, head and row."""
    maps = attention()
    maps[1, 1, 2, 5, 0] = np.nan
    with pytest.raises(ResolventError, match=r"made-up.*text 100, layer 1, head 2.*row 5"):
        battery_block(call(shard_of(battery_shard), captured(maps)))


def test_nulls_are_drawn_under_the_registered_key() -> None:
    """null | kind | subject | checkpoint | state | text id | layer | head | draw, never the order of computation."""
    maps = attention()
    shard = shard_of(null_shard, kind="row_permutation", draw=2, growth_ratio=1.05)
    table = null_block(call(shard, captured(maps))).arrays
    rng = generator(7, "null", "row_permutation", "made-up", "final", "corpus", "200", 1, 2, 2)
    null = row_permutation(exact(maps)[2, 1, 2], rng)
    row = (table["text"] == 2) & (table["layer"] == 1) & (table["head"] == 2)
    assert table["kreiss"][row].item() == pytest.approx(battery(null, ("kreiss",))["kreiss"].item(), rel=1e-9)


def test_texts_that_are_not_there_make_fewer_rows() -> None:
    """A corpus too small for the protocol is counted by the view, not hidden and no crash here."""
    late = Block(8, 8, 16)
    shard = shard_of(battery_shard, block=late)
    table = battery_block(call(shard, captured(attention(texts=2), first=8))).arrays
    assert set(table["text"]) == {8, 9}
    nothing = battery_block(call(shard, captured(attention(texts=0), first=8))).arrays
    assert len(nothing["text"]) == 0


def test_mask_identities_hold_and_would_show_a_fault() -> None:
    """Errors at rounding level on stochastic maps; the raw constant is sqrt n."""
    shard = shard_of(mask_shard, kind="real")
    table = mask_block(call(shard, captured(attention()))).arrays
    assert table["saturation_error"].max() < 1e-6
    assert 0 < table["power_identity_error"].max() < 1e-12
    assert 0 < table["product_identity_error"].max() < 1e-12
    assert not table["absorbing_rows"].any()


def test_mask_counts_absorbing_rows() -> None:
    """The theorem excepts them, so the claim must know them."""
    maps = attention()
    maps[0, 0, 0, 4] = 0
    maps[0, 0, 0, 4, 4] = 1
    table = mask_block(call(shard_of(mask_shard, kind="real"), captured(maps))).arrays
    assert (table["absorbing_rows"] > 0).sum() == 1


def test_chain_evaluates_the_matrices_of_smallest_hash_off_the_axis() -> None:
    """The choice among real matrices and nulls is frozen, and the resolvent off the axis stays below the constant."""
    off_axis = {"angles": 4, "radii": [1.01, 1.5], "matrices": 12, "draws": 1}
    kinds = ("real", "row_permutation")
    shards = [shard_of(chain_shard, kind=kind, draw=0, off_axis=off_axis) for kind in kinds]
    tables = [chain_block(call(shard, captured(attention()))).arrays for shard in shards]
    table = {name: np.concatenate([part[name] for part in tables]) for name in tables[0]}
    evaluated = np.isfinite(table["off_axis_excess"])
    assert evaluated.sum() == 12
    assert all(np.isfinite(part["off_axis_excess"]).any() for part in tables)
    assert table["hash"][evaluated].max() < table["hash"][~evaluated].min()
    assert table["off_axis_excess"][evaluated].max() < 1e-6
    assert table["bracket_violation"].max() < 1e-9
    assert table["ceiling_ratio"].max() <= 1 + 1e-9
    assert table["floor_ratio"].min() >= 1 - 2e-6


def test_without_texts_the_chain_is_an_empty_table() -> None:
    """A corpus that is too short is counted by the view, and is no fault of the stage."""
    off_axis = {"angles": 4, "radii": [1.5], "matrices": 5, "draws": 1}
    shard = shard_of(chain_shard, kind="real", draw=0, off_axis=off_axis)
    assert len(chain_block(call(shard, captured(attention()[:0]))).arrays["text"]) == 0


def test_residuals_are_norms_of_powers() -> None:
    """Against a dense power of the deflated operator."""
    maps = attention()
    table = residual_block(call(shard_of(residual_shard), captured(maps))).arrays
    deviation = exact(maps)[0, 0, 1].copy()
    deviation[:, 0] -= 1
    row = (table["text"] == 0) & (table["layer"] == 0) & (table["head"] == 1)
    power = np.linalg.matrix_power(deviation, LENGTH)
    assert 10 ** table["log10_residual"][row].item() == pytest.approx(np.linalg.norm(power, 2), rel=1e-8)
    assert 10 ** table["log10_norm"][row].item() == pytest.approx(np.linalg.norm(deviation, 2), rel=1e-8)


def test_modes_are_measured_where_a_head_peaks_inside() -> None:
    """A head that collects on token 1 grows; its mode reads e0 - e1 and writes everywhere."""
    maps = attention(texts=1)
    collecting = np.zeros((LENGTH, LENGTH), dtype=np.float32)
    collecting[0, 0] = collecting[1, 1] = 1
    for row in range(2, LENGTH):
        collecting[row, row], collecting[row, 1] = 0.5, 0.5
    collecting[1] = 0
    collecting[1, 1], collecting[1, 0] = 0.999, 0.001
    maps[0, 0, 0] = collecting
    block = Block(0, 0, 1)
    capture = captured(maps)
    real = battery_block(call(shard_of(battery_shard, block=block), capture))
    assert real.arrays["k_sup"][0] >= 2
    table = mode_block(call(shard_of(mode_shard, block=block), capture, real)).arrays
    assert table["early_contrast_share"][0] > 0.9
    assert table["flat_write_share"][0] > 0.9
    elsewhere = real.arrays["k_sup"] == 1
    assert np.isnan(table["early_contrast_share"][elsewhere]).all()


def test_induction_and_duplicate_scores_read_their_stripes() -> None:
    """i -> i - T + 1 and i -> i - T, second copy only; a stripe off by one is another head class."""
    repeat = (LENGTH - 1) // 2
    maps = np.zeros((1, LAYERS, HEADS, LENGTH, LENGTH), dtype=np.float32)
    maps[..., 0] = 1
    for i in range(repeat + 1, LENGTH):
        maps[0, 0, 0, i] = 0
        maps[0, 0, 0, i, i - repeat + 1] = 1
        maps[0, 1, 2, i] = 0
        maps[0, 1, 2, i, i - repeat] = 1
    result = captured(maps)
    shard = behaviour_shard(SUBJECT.name, HEAD_COUNT, Block(0, 0, 1), repeat=repeat)
    table = behaviour_block(call(shard, result)).arrays
    induction = table["induction_score"].reshape(LAYERS, HEADS)
    duplicate = table["duplicate_token_score"].reshape(LAYERS, HEADS)
    assert induction[0, 0] == 1
    assert duplicate[1, 2] == 1
    assert induction.sum() == duplicate.sum() == 1
    loss = result.arrays["cross_entropy"][0]
    assert table["loss_drop"][0] == pytest.approx(loss[:repeat].mean() - loss[repeat + 1 :].mean(), rel=1e-6)


@pytest.mark.parametrize("kind", ["real", "rollout", "layer_permutation", "head_permutation"])
def test_depth_rows_are_cumulative_products_of_layer_means(kind: str) -> None:
    """Depth 1..L of every text, in that order, for the stack and each of its nulls."""
    maps = attention()
    table = depth_block(call(shard_of(depth_shard, kind=kind), captured(maps))).arrays
    assert table["depth"].tolist() == [1, 2] * TEXTS
    if kind == "real":
        expected = depth_products(exact(maps)[1].mean(axis=1))
        np.testing.assert_allclose(table["log10_deviation"][table["text"] == 1], expected.log10_deviation, rtol=1e-9)
    assert (table["log10_norm"] >= table["log10_deviation"] - 1e-9).all()


def test_stage_names_are_shown_in_node_ids() -> None:
    """A failing shard must say what it is."""
    shard = shard_of(battery_shard)
    assert shard.stage is BATTERY
    assert shard.node_id == "evidence::battery[made-up/corpus@13/0-2]"
