"""The killed chain on real attention: survival bracket, ceiling, floor, and the resolvent off the real axis."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.battery import battery_shard
from resolvent.evidence.stages.common import (
    REAL,
    Block,
    HeadTable,
    TextMaps,
    captured_maps,
    null_key,
    null_maps,
    text_label,
)

CHAIN = Stage(
    name="chain",
    version=1,
    function="resolvent.evidence.stages.chain:chain_block",
    output="table",
    sources=(
        "resolvent.evidence.stages.chain",
        "resolvent.evidence.stages.common",
        "resolvent.keyed_random",
        "resolvent.operators",
    ),
    packages=("numpy", "numba", "scipy"),
)

BRACKET_POWERS = (1, 2, 8, 32, 128)
"""The k of the survival bracket (prereg/killed_chain.yaml, `bracket`)."""


def chain_shard(
    subject: str,
    heads: int,
    block: Block,
    *,
    state: str,
    length: int,
    repeat: int | None,
    kind: str,
    draw: int,
    off_axis: dict[str, Any],
) -> Shard:
    """The killed-chain identities on every head of a block, or on one null draw of each.

    off_axis  angles, radii; matrices: so many, those of smallest hash among the real ones and `draws` null draws of
              each, are also evaluated off the axis
    """
    real = battery_shard(subject, heads, block, state=state, length=length, repeat=repeat)
    name = REAL if kind == REAL else f"{kind}.{draw}"
    label = f"{text_label(state, length, real.params['checkpoint'])}/{name}/{block}"
    params = {**real.params, "kind": kind, "draw": draw, "off_axis": off_axis}
    return Shard(CHAIN, subject, label, params, real.inputs, real.matrices)


def chain_block(call: Call) -> Result:
    """A row a text, layer and head.

    `bracket_violation` relative, largest over BRACKET_POWERS; `ceiling_ratio` sup_k over sqrt(2(n-1)); `floor_ratio`
    K over max(1, ||B 1||/4); `hash` the first 52 bits of the SHA-256 that orders matrices for the off-axis choice;
    `off_axis_excess` largest relative excess over the certified K, NaN where not evaluated.
    """
    from resolvent.operators import battery

    kind, draw = call.params["kind"], call.params["draw"]
    texts = list(captured_maps(call))
    bound = _largest_chosen_hash(call, texts)
    table = HeadTable()
    for text in texts:
        maps = text.maps if kind == REAL else null_maps(call, text, kind, draw)
        keys = _hashes(call, text, REAL if kind == REAL else draw)
        measured = battery(maps, ("kreiss", "kreiss_upper", "transient_upper"))
        n = maps.shape[-1]
        violation, floor = np.empty(keys.shape), np.empty(keys.shape)
        excess = np.full(keys.shape, np.nan)
        for at in np.ndindex(keys.shape):
            violation[at], first_survival = _bracket(maps[at])
            floor[at] = measured["kreiss"][at] / max(1.0, first_survival / 4)
            if keys[at] <= bound:
                peak = _off_axis_peak(maps[at], call.params["off_axis"])
                excess[at] = peak / measured["kreiss"][at] - 1
        table.add(
            text,
            {
                "bracket_violation": violation,
                "ceiling_ratio": measured["transient_upper"] / np.sqrt(2 * (n - 1)),
                "floor_ratio": floor,
                "hash": keys,
                "off_axis_excess": excess,
            },
        )
    return table.result()


def _largest_chosen_hash(call: Call, texts: Sequence[TextMaps]) -> int:
    """Among the matrices of these texts, whichever shard holds them; those of other texts may be smaller still."""
    wanted = int(call.params["off_axis"]["matrices"])
    names = [REAL, *range(call.params["off_axis"]["draws"])]
    hashes = [_hashes(call, text, name).reshape(-1) for text in texts for name in names]
    return int(np.sort(np.concatenate(hashes))[:wanted][-1]) if wanted and hashes else -1


def _hashes(call: Call, text: TextMaps, draw: int | str) -> np.ndarray:
    from resolvent.keyed_random import key_string

    keys = np.empty(text.maps.shape[:2], dtype=np.int64)
    for layer, head in np.ndindex(keys.shape):
        key = key_string(*null_key(call, "row_permutation", text.text_id, layer, head, draw))
        keys[layer, head] = int(hashlib.sha256(key.encode("utf-8")).hexdigest()[:13], 16)
    return keys


def _bracket(matrix: np.ndarray) -> tuple[float, float]:
    """Largest relative violation of ||B^k 1|| <= ||A_dev^k|| <= sqrt 2 ||B^k 1||, and ||B 1||."""
    from resolvent.operators import deviation_power_norms, survival

    norms = np.asarray(deviation_power_norms(matrix, BRACKET_POWERS))
    alive = np.asarray(survival(matrix, BRACKET_POWERS))
    both = np.isfinite(norms) & np.isfinite(alive)
    ratio = np.where(np.isneginf(norms) & np.isneginf(alive), 1.0, np.inf)
    ratio[both] = 10.0 ** (norms[both] - alive[both])
    return float(np.max(np.maximum(1 - ratio, ratio / np.sqrt(2) - 1).clip(min=0))), float(10.0 ** alive[0])


def _off_axis_peak(matrix: np.ndarray, off_axis: dict[str, Any]) -> float:
    """Largest (|z|-1) ||(zI - A_dev)^-1|| over the angles 2 pi k / angles, k >= 1, and the radii."""
    from resolvent.operators import deflate

    deviation = deflate(matrix)
    identity = np.eye(len(deviation))
    angles = 2 * np.pi * np.arange(1, off_axis["angles"]) / off_axis["angles"]
    points = [radius * np.exp(1j * angle) for radius in off_axis["radii"] for angle in angles]
    smallest = [np.linalg.svd(z * identity - deviation, compute_uv=False)[-1] for z in points]
    return float(max((abs(z) - 1) / s for z, s in zip(points, smallest, strict=True)))
