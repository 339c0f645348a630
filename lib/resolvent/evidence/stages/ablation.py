"""What each head is worth to the model: the loss on a text without it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.capture import MODEL_SOURCES, capture_shard
from resolvent.evidence.stages.common import FINAL, blocks, text_label

if TYPE_CHECKING:
    from resolvent.models.subjects import Subject

ABLATION = Stage(
    name="ablation",
    version=1,
    function="resolvent.evidence.stages.ablation:ablation_block",
    output="table",
    sources=(
        "resolvent.evidence.stages.ablation",
        "resolvent.evidence.stages.common",
        "resolvent.models.capture",
        "resolvent.models.criticality",
        "resolvent.models.intervene",
        "resolvent.models.preflight",
        *MODEL_SOURCES,
    ),
    packages=("numpy", "torch", "transformers"),
    loads_model=True,
)

HEADS_PER_SHARD = 90
"""Half a minute at 135 million parameters and 128 positions; the layers of a shard have at most so many heads."""


def ablation_shards(
    subject: Subject, *, texts: Iterable[int], state: str, length: int, repeat: int | None
) -> list[Shard]:
    """Every head of every layer on each of the texts; a shard is one text and a group of layers."""
    layers, heads = int(subject.layers), int(subject.heads)
    group = max(1, HEADS_PER_SHARD // heads)
    shards = []
    for text in texts:
        (block,) = blocks(text, text + 1)
        capture = capture_shard(subject.name, state=state, captured=block.captured, repeat=repeat)
        for first in range(0, layers, group):
            stop = min(first + group, layers)
            params = {
                "state": state,
                "start": block.start,
                "stop": block.stop,
                "length": length,
                "layers": [first, stop],
            }
            label = f"{text_label(state, length, FINAL)}/layers.{first}-{stop - 1}/{block}"
            shards.append(Shard(ABLATION, subject.name, label, params, (capture,)))
    return shards


def ablation_block(call: Call) -> Result:
    """A row a text, layer and head of the shard's layers.

    `criticality` mean cross-entropy of the text without the head minus that of the untouched model, `base_loss` the
    latter (nats; the same in each row of a text).
    """
    from resolvent.models.criticality import head_losses
    from resolvent.models.load import load_model

    columns: dict[str, list[np.ndarray]] = {name: [] for name in ("text", "layer", "head", "criticality", "base_loss")}
    capture = call.inputs[0]
    first_text = int(capture.metadata["start"])
    token_ids = capture.arrays["token_ids"][:, : call.params["length"]]
    texts = range(call.params["start"], min(call.params["stop"], first_text + len(token_ids)))
    layers = range(*call.params["layers"])
    loaded = load_model(call.study, call.subject, device=call.device)
    for text in texts:
        losses = head_losses(loaded, token_ids[text - first_text], layers)
        layer, head = np.indices(losses.without.shape)
        columns["text"].append(np.full(layer.size, text))
        columns["layer"].append(layer.reshape(-1) + layers.start)
        columns["head"].append(head.reshape(-1))
        columns["criticality"].append((losses.without - losses.base).reshape(-1))
        columns["base_loss"].append(np.full(layer.size, losses.base))
    return Result({name: np.concatenate(parts) if parts else np.empty(0) for name, parts in columns.items()})
