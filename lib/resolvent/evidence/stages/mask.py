"""What the mask alone forces: K(A) = sqrt(n), and the exact splitting of powers and of depth products by P."""

from __future__ import annotations

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.battery import battery_shard
from resolvent.evidence.stages.common import REAL, Block, HeadTable, captured_maps, null_maps, text_label

MASK = Stage(
    name="mask",
    version=1,
    function="resolvent.evidence.stages.mask:mask_block",
    output="table",
    sources=(
        "resolvent.evidence.stages.mask",
        "resolvent.evidence.stages.common",
        "resolvent.keyed_random",
        "resolvent.operators",
    ),
    packages=("numpy", "numba"),
)

SQUARINGS = {1: 0, 2: 1, 8: 3, 32: 5, 128: 7}
"""Power k and the number of squarings that give it (prereg/mask_saturation.yaml, `powers`)."""


def mask_shard(
    subject: str, heads: int, block: Block, *, state: str, length: int, repeat: int | None, kind: str, draw: int = 0
) -> Shard:
    """The mask's identities on every head of a block (`kind` "real"), or on one null draw of each."""
    real = battery_shard(subject, heads, block, state=state, length=length, repeat=repeat)
    name = REAL if kind == REAL else f"{kind}.{draw}"
    label = f"{text_label(state, length, real.params['checkpoint'])}/{name}/{block}"
    return Shard(MASK, subject, label, {**real.params, "kind": kind, "draw": draw}, real.inputs, real.matrices)


def mask_block(call: Call) -> Result:
    """A row a text, layer and head.

    `saturation_error` |K(A) - sqrt n|, `absorbing_rows`, `power_identity_error` the largest entry of
    |A^k - P - A_dev^k|, and for the real maps `product_identity_error`, the same for the products of the layer means
    of the row's text over every depth (repeated in each of its rows).
    """
    from resolvent.operators import absorbing_rows, raw_kreiss_constant

    table = HeadTable()
    for text in captured_maps(call):
        real = call.params["kind"] == REAL
        maps = text.maps if real else null_maps(call, text, call.params["kind"], call.params["draw"])
        layers, heads, n, _ = maps.shape
        flat = maps.reshape(-1, n, n)
        kreiss = np.array([raw_kreiss_constant(matrix) for matrix in flat])
        columns = {
            "saturation_error": np.abs(kreiss - np.sqrt(n)).reshape(layers, heads),
            "absorbing_rows": np.array([absorbing_rows(matrix) for matrix in flat]).reshape(layers, heads),
            "power_identity_error": np.array([_power_identity_error(matrix) for matrix in flat]).reshape(layers, heads),
        }
        if real:
            columns["product_identity_error"] = np.float64(_product_identity_error(maps.mean(axis=1)))
        table.add(text, columns)
    return table.result()


def _power_identity_error(matrix: np.ndarray) -> float:
    from resolvent.operators import deflate, perron_projector

    projector = perron_projector(len(matrix))
    power, deviation = matrix, deflate(matrix)
    error = 0.0
    for squarings in range(max(SQUARINGS.values()) + 1):
        if squarings > 0:
            power, deviation = power @ power, deviation @ deviation
        if squarings in SQUARINGS.values():
            error = max(error, float(np.abs(power - projector - deviation).max()))
    return error


def _product_identity_error(means: np.ndarray) -> float:
    from resolvent.operators import deflate, perron_projector

    projector = perron_projector(means.shape[-1])
    product, deviation = np.eye(means.shape[-1]), np.eye(means.shape[-1])
    error = 0.0
    for mean in means:
        product, deviation = mean @ product, deflate(mean) @ deviation
        error = max(error, float(np.abs(product - projector - deviation).max()))
    return error
