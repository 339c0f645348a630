"""Depth products of the layer-mean stacks, their nulls, and the rollout variant."""

from __future__ import annotations

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.battery import battery_shard
from resolvent.evidence.stages.common import FINAL, REAL, Block, TextMaps, captured_maps, null_key, text_label

DEPTH = Stage(
    name="depth",
    version=1,
    function="resolvent.evidence.stages.depth:depth_block",
    output="table",
    sources=(
        "resolvent.evidence.stages.depth",
        "resolvent.evidence.stages.common",
        "resolvent.keyed_random",
        "resolvent.operators",
    ),
    packages=("numpy", "numba", "scipy"),
)

ROLLOUT = "rollout"


def depth_shard(
    subject: str,
    heads: int,
    block: Block,
    *,
    state: str,
    length: int,
    repeat: int | None,
    kind: str,
    draw: int = 0,
    checkpoint: str = FINAL,
) -> Shard:
    """The depth products of a block of texts: `kind` real, rollout, layer_permutation or head_permutation."""
    real = battery_shard(subject, heads, block, state=state, length=length, repeat=repeat, checkpoint=checkpoint)
    name = kind if kind in (REAL, ROLLOUT) else f"{kind}.{draw}"
    label = f"{text_label(state, length, checkpoint)}/{name}/{block}"
    return Shard(DEPTH, subject, label, {**real.params, "kind": kind, "draw": draw}, real.inputs, real.matrices)


def depth_block(call: Call) -> Result:
    """A row a text and depth 1..L: `log10_deviation` D, `log10_eigenvalue` E, `log10_norm` N (may be -inf)."""
    from resolvent.operators import depth_products, rollout_products

    parts: dict[str, list[np.ndarray]] = {
        name: [] for name in ("text", "depth", "log10_deviation", "log10_eigenvalue", "log10_norm")
    }
    for text in captured_maps(call):
        stack = _stack(call, text)
        products = rollout_products(stack) if call.params["kind"] == ROLLOUT else depth_products(stack)
        layers = len(stack)
        parts["text"].append(np.full(layers, text.index))
        parts["depth"].append(np.arange(1, layers + 1))
        parts["log10_deviation"].append(products.log10_deviation)
        parts["log10_eigenvalue"].append(products.log10_eigenvalue)
        parts["log10_norm"].append(products.log10_norm)
    return Result({name: np.concatenate(values) if values else np.empty(0) for name, values in parts.items()})


def _stack(call: Call, text: TextMaps) -> np.ndarray:
    """The layer-mean stack (layers, n, n) of a text, or of one null draw of it."""
    from resolvent.keyed_random import generator
    from resolvent.operators import head_permutation, layer_permutation

    kind, draw = call.params["kind"], call.params["draw"]
    if kind in (REAL, ROLLOUT):
        return text.maps.mean(axis=1)

    def keyed(layer: int, head: int | str) -> np.random.Generator:
        return generator(call.seed, *null_key(call, kind, text.text_id, layer, head, draw))

    layers, heads = text.maps.shape[:2]
    if kind == "layer_permutation":
        means = text.maps.mean(axis=1)
        return np.stack([layer_permutation(means[layer], keyed(layer, "mean")) for layer in range(layers)])
    if kind == "head_permutation":
        return np.stack(
            [
                head_permutation(text.maps[layer], [keyed(layer, head) for head in range(heads)])
                for layer in range(layers)
            ]
        )
    raise ResolventError(
        f"null '{kind}' is not a null of layer-mean stacks; allowed: layer_permutation, head_permutation"
    )
