"""The battery on real heads, and the short battery on their nulls."""

from __future__ import annotations

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.capture import capture_shard
from resolvent.evidence.stages.common import FINAL, Block, HeadTable, captured_maps, null_maps, text_label

_SOURCES = (
    "resolvent.evidence.stages.battery",
    "resolvent.evidence.stages.common",
    "resolvent.keyed_random",
    "resolvent.operators",
)

BATTERY = Stage(
    name="battery",
    version=1,
    function="resolvent.evidence.stages.battery:battery_block",
    output="table",
    sources=_SOURCES,
    packages=("numpy", "numba"),
)

NULLS = Stage(
    name="nulls",
    version=1,
    function="resolvent.evidence.stages.battery:null_block",
    output="table",
    sources=_SOURCES,
    packages=("numpy", "numba"),
)

NULL_QUANTITIES = ("kreiss", "kreiss_upper", "rho_eps_1e-2", "grows")


def battery_shard(
    subject: str, heads: int, block: Block, *, state: str, length: int, repeat: int | None, checkpoint: str = FINAL
) -> Shard:
    """The battery of every head of a block of texts; `heads` is the number of heads of the model."""
    capture = capture_shard(subject, state=state, captured=block.captured, repeat=repeat, checkpoint=checkpoint)
    params = {
        "state": state,
        "checkpoint": checkpoint,
        "start": block.start,
        "stop": block.stop,
        "length": length,
    }
    label = f"{text_label(state, length, checkpoint)}/{block}"
    return Shard(BATTERY, subject, label, params, (capture,), heads * (block.stop - block.start))


def null_shard(
    subject: str,
    heads: int,
    block: Block,
    *,
    state: str,
    length: int,
    repeat: int | None,
    kind: str,
    draw: int,
    growth_ratio: float,
    checkpoint: str = FINAL,
) -> Shard:
    """One draw of a null for every head of a block of texts."""
    real = battery_shard(subject, heads, block, state=state, length=length, repeat=repeat, checkpoint=checkpoint)
    params = {**real.params, "kind": kind, "draw": draw, "growth_ratio": growth_ratio}
    label = f"{text_label(state, length, checkpoint)}/{kind}.{draw}/{block}"
    return Shard(NULLS, subject, label, params, real.inputs, real.matrices)


def battery_block(call: Call) -> Result:
    """A row a text, layer and head: every quantity of `operators.battery`."""
    from resolvent.operators import battery

    table = HeadTable()
    for text in captured_maps(call):
        table.add(text, battery(text.maps))
    return table.result()


def null_block(call: Call) -> Result:
    """A row a text, layer and head: NULL_QUANTITIES of one null matrix each."""
    from resolvent.operators import battery

    table = HeadTable()
    for text in captured_maps(call):
        nulls = null_maps(call, text, call.params["kind"], call.params["draw"])
        table.add(text, battery(nulls, NULL_QUANTITIES, growth_ratio=call.params["growth_ratio"]))
    return table.result()
