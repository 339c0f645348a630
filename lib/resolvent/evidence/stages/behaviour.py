"""What a head does on the repeat probe, and what the repeat is worth to the model."""

from __future__ import annotations

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.battery import battery_shard
from resolvent.evidence.stages.common import FINAL, Block, HeadTable, captured_maps

BEHAVIOUR = Stage(
    name="behaviour",
    version=1,
    function="resolvent.evidence.stages.behaviour:behaviour_block",
    output="table",
    sources=(
        "resolvent.evidence.stages.behaviour",
        "resolvent.evidence.stages.common",
        "resolvent.operators",
    ),
    packages=("numpy",),
)


def behaviour_shard(subject: str, heads: int, block: Block, *, repeat: int, checkpoint: str = FINAL) -> Shard:
    """Scores of every head on a block of repeat probes BOS + r + r."""
    length = 2 * repeat + 1
    real = battery_shard(
        subject, heads, block, state="repeat_probe", length=length, repeat=repeat, checkpoint=checkpoint
    )
    return Shard(BEHAVIOUR, subject, real.label, {**real.params, "repeat": repeat}, real.inputs, real.matrices)


def behaviour_block(call: Call) -> Result:
    """A row a probe, layer and head.

    `induction_score` mean attention of second-copy positions i to i - T + 1, `duplicate_token_score` to i - T;
    `loss_drop` mean cross-entropy of the first copy minus that of the second, the second's first token left out because
    nothing announces it (nats, of the whole probe: the same in each of its rows).
    """
    repeat = int(call.params["repeat"])
    second = np.arange(repeat + 1, 2 * repeat + 1)
    capture = call.inputs[0]
    first_text = int(capture.metadata["start"])
    table = HeadTable()
    for text in captured_maps(call):
        # loss[i] is that of predicting position i + 1: positions 1..T are the first copy, T + 1..2T the second.
        loss = capture.arrays["cross_entropy"][text.index - first_text].astype(np.float64)
        table.add(
            text,
            {
                "induction_score": text.maps[..., second, second - repeat + 1].mean(axis=-1),
                "duplicate_token_score": text.maps[..., second, second - repeat].mean(axis=-1),
                "loss_drop": np.float64(loss[:repeat].mean() - loss[repeat + 1 :].mean()),
            },
        )
    return table.result()
