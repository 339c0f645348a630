"""Norms of powers of A_dev on real attention: plain survival of the killed chain, and persistence at one power."""

from __future__ import annotations

from collections.abc import Sequence

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.battery import battery_shard
from resolvent.evidence.stages.common import FINAL, Block, HeadTable, captured_maps, text_label

_SOURCES = (
    "resolvent.evidence.stages.powers",
    "resolvent.evidence.stages.common",
    "resolvent.operators",
)

SURVIVAL = Stage(
    name="survival",
    version=1,
    function="resolvent.evidence.stages.powers:survival_block",
    output="table",
    sources=_SOURCES,
    packages=("numpy", "numba", "scipy"),
)

PERSISTENCE = Stage(
    name="persistence",
    version=1,
    function="resolvent.evidence.stages.powers:persistence_block",
    output="table",
    sources=_SOURCES,
    packages=("numpy", "numba", "scipy"),
)


def survival_shard(
    subject: str,
    heads: int,
    block: Block,
    *,
    state: str,
    length: int,
    repeat: int | None,
    powers: Sequence[int],
    checkpoint: str = FINAL,
) -> Shard:
    """How much of the killed chain is alive after each of `powers` steps, for every head of a block of texts."""
    real = battery_shard(subject, heads, block, state=state, length=length, repeat=repeat, checkpoint=checkpoint)
    return Shard(SURVIVAL, subject, real.label, {**real.params, "powers": list(powers)}, real.inputs, real.matrices)


def persistence_shard(
    subject: str,
    heads: int,
    block: Block,
    *,
    state: str,
    length: int,
    repeat: int | None,
    power: int,
    checkpoint: str = FINAL,
) -> Shard:
    """The size of the deviation after `power` steps, for every head of a block of texts."""
    real = battery_shard(subject, heads, block, state=state, length=length, repeat=repeat, checkpoint=checkpoint)
    label = f"{text_label(state, length, checkpoint)}/k{power}/{block}"
    return Shard(PERSISTENCE, subject, label, {**real.params, "power": power}, real.inputs, real.matrices)


def survival_block(call: Call) -> Result:
    """A row a text, layer and head: `log10_survival_K`, log10 ||B^K 1||, for each of the powers (-inf for none)."""
    from resolvent.operators import survival

    powers = call.params["powers"]
    table = HeadTable()
    for text in captured_maps(call):
        log10 = survival(text.maps, powers)
        table.add(text, {f"log10_survival_{power}": log10[..., index] for index, power in enumerate(powers)})
    return table.result()


def persistence_block(call: Call) -> Result:
    """A row a text, layer and head: `log10_persistence`, log10 ||A_dev^k|| at k = `power` (-inf for an exact zero)."""
    from resolvent.operators import deviation_power_norms

    table = HeadTable()
    for text in captured_maps(call):
        table.add(text, {"log10_persistence": deviation_power_norms(text.maps, int(call.params["power"]))})
    return table.result()
