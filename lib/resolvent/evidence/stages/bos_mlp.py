"""The model without the MLP's contribution to BOS where massive activations emerge, or in as many other layers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.common import FINAL, Block, text_label
from resolvent.evidence.stages.intervened import PACKAGES, SOURCES, head_arrays, receipt_json
from resolvent.evidence.stages.residual import boundary_columns, residual_shard, texts_of

BOS_MLP = Stage(
    name="bos_mlp",
    version=1,
    function="resolvent.evidence.stages.bos_mlp:bos_mlp_block",
    output="table",
    sources=("resolvent.evidence.stages.bos_mlp", *SOURCES),
    packages=PACKAGES,
    loads_model=True,
)

READ = ("bos_norm", "median_norm", "largest_norm", "entropy_bits", "entropy_share", "anisotropy")
"""Columns of the boundary that a row's layer reads."""


@dataclass(frozen=True)
class Run:
    """One intervention.

    ratio    layers of at least this emergence factor are those of emergence
    below    layers below this factor are those that controls are drawn from
    control  number of the draw of as many such layers; None for the layers of emergence themselves
    scale    what remains of the MLP term at BOS
    """

    ratio: float
    below: float
    control: int | None = None
    scale: float = 0.0

    def __str__(self) -> str:
        name = f"from{self.ratio:g}"
        name += "" if self.control is None else f".control{self.control}.below{self.below:g}"
        return name if self.scale == 0 else f"{name}.scale{self.scale:g}"


def bos_mlp_shard(
    subject: str,
    heads: int,
    block: Block,
    *,
    selected_on: Sequence[Block],
    state: str,
    length: int,
    repeat: int | None,
    run: Run,
) -> Shard:
    """One intervention on a block of texts; `heads` is the number of heads of the model.

    selected_on  blocks of the texts that choose the layers
    """
    given = [residual_shard(subject, part, state=state, length=length, repeat=repeat) for part in selected_on]
    own = residual_shard(subject, block, state=state, length=length, repeat=repeat)
    params = {
        **own.params,
        "ratio": run.ratio,
        "below": run.below,
        "control": run.control,
        "scale": run.scale,
    }
    label = f"{text_label(state, length, FINAL)}/{run}/{block}"
    return Shard(BOS_MLP, subject, label, params, (*own.inputs, *given), heads * (block.stop - block.start))


def bos_mlp_block(call: Call) -> Result:
    """A row a text, layer and head: see `head_arrays`; and READ, the same for all heads of a layer.

    Metadata: `layers` (JSON), `receipt`. An empty table where no layer is one of emergence, or too few are left for a
    control: then nothing is to be measured.
    """
    from resolvent.models.capture import capture
    from resolvent.models.intervene.bos_mlp import scale_bos_mlp
    from resolvent.models.load import load_model

    token_ids, metadata = texts_of(call)
    layers = _layers(call)
    if not len(token_ids) or not len(layers):
        empty = {name: np.empty(0, dtype=np.int64) for name in ("text", "layer", "head")}
        return Result(empty, {"layers": json.dumps(layers)})
    loaded = load_model(call.study, call.subject, device=call.device)
    with scale_bos_mlp(loaded, layers, call.params["scale"]) as receipt:
        captured = capture(loaded, token_ids, boundaries=True)
    assert captured.boundaries is not None
    columns = boundary_columns(captured.boundaries[:, :-1])
    arrays = head_arrays(call, captured, metadata)
    row, layer = arrays["text"] - int(metadata["start"]), arrays["layer"]
    return Result(
        {**arrays, **{name: columns[name][row, layer] for name in READ}},
        {"layers": json.dumps(layers), "receipt": receipt_json(receipt)},
    )


def chosen_layers(factors: np.ndarray, ratio: float, below: float) -> tuple[np.ndarray, np.ndarray]:
    """Layers of emergence, and those that controls are drawn from, ascending, by their emergence factors."""
    return np.flatnonzero(factors >= ratio), np.flatnonzero(factors < below)


def _layers(call: Call) -> list[int]:
    """The layers to act on; none where there are not enough."""
    from resolvent.keyed_random import generator
    from resolvent.representations import emergence_factors

    given = [part.arrays for part in call.inputs[1:]]
    bos_norm = np.concatenate([part["bos_norm"][:, 1:] for part in given])
    without = np.concatenate([part["bos_norm_without_mlp"] for part in given])
    if not len(bos_norm):
        return []
    factors = emergence_factors(bos_norm, without)
    emerging, ordinary = chosen_layers(factors, call.params["ratio"], call.params["below"])
    draw = call.params["control"]
    if draw is None:
        return [int(layer) for layer in emerging]
    if len(ordinary) < len(emerging):
        return []
    rng = generator(call.seed, "controls", call.subject.name, draw)
    return sorted(int(layer) for layer in rng.choice(ordinary, size=len(emerging), replace=False))
