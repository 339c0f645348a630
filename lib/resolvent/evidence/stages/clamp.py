"""The model with massive dims of its residual stream clamped, or as many random ones."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.common import FINAL, Block, text_label
from resolvent.evidence.stages.intervened import PACKAGES, SOURCES, head_arrays, receipt_json
from resolvent.evidence.stages.residual import residual_shard, texts_of

CLAMP = Stage(
    name="clamp",
    version=1,
    function="resolvent.evidence.stages.clamp:clamp_block",
    output="table",
    sources=("resolvent.evidence.stages.clamp", *SOURCES),
    packages=PACKAGES,
    loads_model=True,
)

MODES = ("zero", "boundary_median", "random")


def clamp_shard(
    subject: str,
    heads: int,
    block: Block,
    *,
    chosen_on: Sequence[Block],
    state: str,
    length: int,
    repeat: int | None,
    dims: int,
    mode: str,
    draw: int = 0,
) -> Shard:
    """The clamped heads of a block of texts; `heads` is the number of heads of the model.

    chosen_on  blocks of the texts on which the massive dims, and the medians, are taken
    mode       zero, boundary_median (of the massive dims), or random (draw `draw` of ordinary dims, set to zero)
    Raises ResolventError for another mode.
    """
    if mode not in MODES:
        raise ResolventError(f"protocol: clamp mode {mode} is unknown; allowed: {', '.join(MODES[:2])}")
    given = [residual_shard(subject, part, state=state, length=length, repeat=repeat) for part in chosen_on]
    own = residual_shard(subject, block, state=state, length=length, repeat=repeat)
    params = {**own.params, "dims": dims, "mode": mode, "draw": draw}
    name = f"{mode}.{draw}" if mode == "random" else mode
    label = f"{text_label(state, length, FINAL)}/{name}.{dims}dims/{block}"
    return Shard(CLAMP, subject, label, params, (*own.inputs, *given), heads * (block.stop - block.start))


def clamp_block(call: Call) -> Result:
    """A row a text, layer and head: see `head_arrays`. Metadata: `dims` (JSON), `receipt`.

    All positions of all boundaries are clamped. Texts that the corpus could not provide are simply not there.
    """
    from resolvent.models.capture import capture
    from resolvent.models.intervene.clamp import clamp
    from resolvent.models.load import load_model
    from resolvent.representations import largest_dims

    token_ids, metadata = texts_of(call)
    magnitudes = np.concatenate([given.arrays["bos_magnitude"] for given in call.inputs[1:]])
    if not len(token_ids):
        return Result({name: np.empty(0, dtype=np.int64) for name in ("text", "layer", "head")})
    massive = largest_dims(magnitudes, int(call.params["dims"]))
    mode = call.params["mode"]
    loaded = load_model(call.study, call.subject, device=call.device)
    dims = control_dims(call, massive, magnitudes.shape[-1]) if mode == "random" else massive
    values: np.ndarray | float = 0.0
    if mode == "boundary_median":
        parts = [capture(loaded, given.arrays["token_ids"], boundaries=True).boundaries for given in call.inputs[1:]]
        streams = np.concatenate([part[..., dims] for part in parts if part is not None])
        values = np.median(streams, axis=(0, 2))
    with clamp(loaded, dims.tolist(), values) as receipt:
        captured = capture(loaded, token_ids)
    return Result(
        head_arrays(call, captured, metadata),
        {"dims": json.dumps(dims.tolist()), "receipt": receipt_json(receipt)},
    )


def control_dims(call: Call, massive: np.ndarray, width: int) -> np.ndarray:
    """As many dims as are massive, out of the others in ascending order, without replacement.

    The draw is keyed dims | subject | draw (prereg/subjects.yaml).
    """
    from resolvent.keyed_random import generator

    ordinary = np.setdiff1d(np.arange(width), massive)
    rng = generator(call.seed, "dims", call.subject.name, call.params["draw"])
    return rng.choice(ordinary, size=len(massive), replace=False)
