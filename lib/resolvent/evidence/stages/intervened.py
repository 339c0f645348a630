"""What the stages that intervene share: heads measured in an intervened model, and the receipt in the metadata."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.evidence.shards import Call, Result
from resolvent.evidence.stages.common import HeadTable, text_maps

if TYPE_CHECKING:
    from resolvent.models.capture import Captured
    from resolvent.models.intervene.receipts import Receipt

HEAD_QUANTITIES = (
    "kreiss",
    "kreiss_upper",
    "bos_mass",
    "diagonal_mass",
    "previous_token_mass",
    "row_entropy",
)
"""Columns of the battery that an intervened head gets; the untouched heads have them in the battery's own table."""

SOURCES = (
    "resolvent.evidence.stages.common",
    "resolvent.evidence.stages.intervened",
    "resolvent.evidence.stages.residual",
    "resolvent.keyed_random",
    "resolvent.models",
    "resolvent.operators",
    "resolvent.representations",
)

PACKAGES = ("numpy", "numba", "torch", "transformers")


def head_arrays(call: Call, captured: Captured, metadata: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Columns text, layer, head, HEAD_QUANTITIES and `cross_entropy` (mean of the text, nats, in each of its rows).

    metadata  start, length and text_ids of what was captured
    """
    from resolvent.operators import battery

    table = HeadTable()
    losses = captured.cross_entropy.mean(axis=1, dtype=np.float64)
    start = int(metadata["start"])
    for text in text_maps(call, Result({"attention": captured.attention}, metadata)):
        table.add(text, {**battery(text.maps, HEAD_QUANTITIES), "cross_entropy": losses[text.index - start]})
    return dict(table.result().arrays)


def receipt_json(receipt: Receipt) -> str:
    """What the intervention was and what it changed, as it stands in a result's metadata under `receipt`."""
    plain: dict[str, Any] = {
        "what": receipt.what,
        "changes": [dataclasses.asdict(change) for change in receipt.changes],
    }
    return json.dumps(plain)
