"""On how few columns a head gathers its attention."""

from __future__ import annotations

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.battery import battery_shard
from resolvent.evidence.stages.common import FINAL, Block, HeadTable, captured_maps

CONCENTRATION = Stage(
    name="concentration",
    version=1,
    function="resolvent.evidence.stages.concentration:concentration_block",
    output="table",
    sources=(
        "resolvent.evidence.stages.concentration",
        "resolvent.evidence.stages.common",
        "resolvent.operators",
    ),
    packages=("numpy",),
)


def concentration_shard(
    subject: str,
    heads: int,
    block: Block,
    *,
    state: str,
    length: int,
    repeat: int | None,
    columns: int,
    checkpoint: str = FINAL,
) -> Shard:
    """The share of the `columns` heaviest columns, for every head of a block of texts."""
    real = battery_shard(subject, heads, block, state=state, length=length, repeat=repeat, checkpoint=checkpoint)
    return Shard(CONCENTRATION, subject, real.label, {**real.params, "columns": columns}, real.inputs, real.matrices)


def concentration_block(call: Call) -> Result:
    """A row a text, layer and head: `top_column_share`, the mass of rows >= 1 on their heaviest columns, over n - 1."""
    columns = int(call.params["columns"])
    table = HeadTable()
    for text in captured_maps(call):
        mass = text.maps[..., 1:, :].sum(axis=-2)
        heaviest = np.sort(mass, axis=-1)[..., -columns:].sum(axis=-1)
        table.add(text, {"top_column_share": heaviest / (text.maps.shape[-1] - 1)})
    return table.result()
