"""The rotation in the scoring operator of every head, from its query and key weights: no text, no attention."""

from __future__ import annotations

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.capture import MODEL_SOURCES
from resolvent.evidence.stages.common import FINAL, step_of

ROTATION = Stage(
    name="rotation",
    version=1,
    function="resolvent.evidence.stages.rotation:rotation_table",
    output="table",
    sources=(
        "resolvent.evidence.stages.rotation",
        "resolvent.evidence.stages.common",
        "resolvent.keyed_random",
        "resolvent.models.weights",
        "resolvent.operators.scoring_null",
        *MODEL_SOURCES,
    ),
    packages=("numpy", "torch", "transformers"),
    loads_model=True,
)

DRAWS = 32
"""Random turns that a head's rotational energy is compared with (definitions, D_head)."""


def rotation_shard(subject: str, *, checkpoint: str = FINAL) -> Shard:
    """Every head of a model, or of a checkpoint of it."""
    label = "heads" if checkpoint == FINAL else f"heads/step{checkpoint}"
    return Shard(ROTATION, subject, label, {"checkpoint": checkpoint})


def rotation_table(call: Call) -> Result:
    """A row a layer and head: `d_head`, log2 (`operators.scoring_null.rotational_deficit`); NaN for zero weights."""
    from resolvent.keyed_random import generator
    from resolvent.models.load import load_model
    from resolvent.models.weights import query_key_weights
    from resolvent.operators.scoring_null import rotational_deficit

    checkpoint = call.params["checkpoint"]
    loaded = load_model(call.study, call.subject, step=step_of(checkpoint), device=call.device)
    values = np.empty((loaded.layers, loaded.heads))
    for layer in range(loaded.layers):
        query, key = query_key_weights(loaded, layer)
        for head in range(loaded.heads):
            rngs = [
                generator(call.seed, "haar", call.subject.name, checkpoint, layer, head, draw) for draw in range(DRAWS)
            ]
            values[layer, head] = rotational_deficit(query[head], key[head], rngs)
    layer_of, head_of = np.indices(values.shape)
    return Result({"layer": layer_of.reshape(-1), "head": head_of.reshape(-1), "d_head": values.reshape(-1)})
