"""Tables of a planted training run: a value for every stage, column, checkpoint and head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from resolvent.evidence.shards import Result, Shard
from resolvent.models.subjects import Series

LAYERS, HEADS = 6, 8
COUNT = LAYERS * HEADS
STEPS = (0, 16, 29, 52, 93, 166, 299, 536, 962, 1728, 3102, 5570, 10000)
SERIES = Series(revision="step{}", steps=STEPS, tokens_per_step=2048)
SUBJECT: Any = SimpleNamespace(name="planted", layers=LAYERS, heads=HEADS, corpus="speeches", series=SERIES)

BATTERY = ("kreiss", "kreiss_upper", "bos_mass", "previous_token_mass", "normalised_entropy")
WILD_TEXT = 3
"""A text with values of its own: a median over texts must not see it."""

Column = Callable[[int, np.ndarray], np.ndarray]
"""(checkpoint index, heads) -> values."""


def loader(columns: Mapping[str, Column], *, texts: int = 16) -> Callable[[Shard], Result]:
    """Evidence with these columns and 1 elsewhere; `null_kreiss` are the nulls' constants. Rows are shuffled."""

    def values(name: str, shard: Shard, head: np.ndarray) -> np.ndarray:
        column = columns.get("null_kreiss" if (shard.stage.name, name) == ("nulls", "kreiss") else name)
        at = STEPS.index(int(shard.params["checkpoint"]))
        return np.ones(len(head)) if column is None else np.asarray(column(at, head), dtype=np.float64)

    def load(shard: Shard) -> Result:
        names = {
            "battery": BATTERY,
            "nulls": ("kreiss", "kreiss_upper"),
            "behaviour": ("induction_score",),
            "concentration": ("top_column_share",),
            "rotation": ("d_head",),
        }[shard.stage.name]
        if shard.stage.name == "rotation":
            head = np.random.default_rng(1).permutation(COUNT)
            table = {"layer": head // HEADS, "head": head % HEADS}
            return Result({**table, **{name: values(name, shard, head) for name in names}})
        start, stop = shard.params["start"], shard.params["stop"]
        text = np.arange(start, stop if start >= 32 else min(stop, texts))
        rows, head = (grid.reshape(-1) for grid in np.meshgrid(text, np.arange(COUNT), indexing="ij"))
        order = np.random.default_rng(0).permutation(len(rows))
        rows, head = rows[order], head[order]
        found = {name: np.where(rows == WILD_TEXT, 0.97, values(name, shard, head)) for name in names}
        return Result({"text": rows, "layer": head // HEADS, "head": head % HEADS, **found})

    return load


def sigmoid(middle: float | np.ndarray, *, low: float = 0.0, high: float = 1.0, width: float = 0.3) -> Column:
    """A smooth change from `low` to `high` that has made half of its way just before a checkpoint index.

    middle  that index, the same for all heads or one a head
    """

    def column(at: int, head: np.ndarray) -> np.ndarray:
        centre = np.broadcast_to(middle, (COUNT,))[head] if np.ndim(middle) else np.full(len(head), float(middle))
        return low + (high - low) / (1 + np.exp((centre - 0.25 - at) / width))

    return column
