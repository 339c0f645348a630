"""What the query and key weights of a head say: features of its scoring operator, without any text."""

from __future__ import annotations

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.common import FINAL

WEIGHTS = Stage(
    name="weights",
    version=1,
    function="resolvent.evidence.stages.weights:weight_features",
    output="table",
    sources=("resolvent.evidence.stages.weights", "resolvent.models", "resolvent.operators.scoring"),
    packages=("numpy", "torch", "transformers"),
    loads_model=True,
)

COLUMNS = {
    "weight_spectral_radius": "spectral_radius",
    "weight_off_axis_energy": "rotational_fraction",
    "weight_mean_angle": "mean_angle",
    "weight_effective_rank": "effective_rank",
    "weight_departure": "relative_departure",
    "weight_log10_condition": "log10_eigenvector_condition",
}
"""Column of the table: field of `operators.scoring.ScoringOperator`."""


def weights_shard(subject: str, heads: int, *, checkpoint: str = FINAL) -> Shard:
    """The scoring operators of all heads of one checkpoint; `heads` is their number."""
    return Shard(WEIGHTS, subject, checkpoint, {"checkpoint": checkpoint}, matrices=heads)


def weight_features(call: Call) -> Result:
    """A row a layer and head: COLUMNS. NaN where the scoring operator is zero, inf for a defective one's condition."""
    from resolvent.models.load import load_model
    from resolvent.models.weights import query_key_weights
    from resolvent.operators.scoring import scoring_operator

    if call.params["checkpoint"] != FINAL:
        raise ResolventError(f"{call.subject.name}: checkpoint {call.params['checkpoint']} cannot be loaded yet")
    loaded = load_model(call.study, call.subject, device=call.device)
    rows = []
    for layer in range(loaded.layers):
        pairs = zip(*query_key_weights(loaded, layer), strict=True)
        rows += [(layer, head, scoring_operator(query, key)) for head, (query, key) in enumerate(pairs)]
    return Result(
        {
            "layer": np.array([layer for layer, _, _ in rows]),
            "head": np.array([head for _, head, _ in rows]),
            **{
                column: np.array([getattr(operator, field) for _, _, operator in rows])
                for column, field in COLUMNS.items()
            },
        }
    )
