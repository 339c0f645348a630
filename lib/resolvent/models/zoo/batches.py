"""What a training step is shown: rows of the corpus, and rows that hold one segment again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from resolvent.keyed_random import generator
from resolvent.models.zoo.families import BOS_ID, CONTEXT, VOCABULARY, Recipe

if TYPE_CHECKING:
    from jaxtyping import Int64, UInt16

SHORTEST_SEGMENT, LONGEST_SEGMENT = 8, 63
"""Tokens of a segment, drawn uniformly: at least two whole copies fit into a row."""


class Batches:
    """The batches of a run: a function of recipe, corpus and step, whatever was computed before.

    rows  of the corpus, CONTEXT - 1 tokens each; gone through in a new order each epoch
    """

    def __init__(self, recipe: Recipe, rows: UInt16[np.ndarray, "rows tokens"]) -> None:
        self._recipe = recipe
        self._rows = rows
        self._orders: dict[int, np.ndarray] = {}

    def batch(self, step: int) -> Int64[np.ndarray, "batch n"]:
        """Token ids of the step (from 0), BOS first.

        Each row is drawn to be a repeated one with probability `repeated_share`. Of those one half repeats a segment
        of the corpus row that would have stood there, the other one of tokens drawn uniformly.
        """
        recipe = self._recipe
        random = generator(recipe.seed, "batch", step)
        ids = np.full((recipe.batch, CONTEXT), BOS_ID, dtype=np.int64)
        for place in range(recipe.batch):
            row = self._row(step * recipe.batch + place)
            if random.random() < recipe.repeated_share:
                row = _repeated(row, random)
            ids[place, 1:] = row
        return ids

    def _row(self, position: int) -> np.ndarray:
        epoch, within = divmod(position, len(self._rows))
        if epoch not in self._orders:
            self._orders = {epoch: generator(self._recipe.seed, "epoch", epoch).permutation(len(self._rows))}
        return self._rows[self._orders[epoch][within]]


def _repeated(row: np.ndarray, random: np.random.Generator) -> np.ndarray:
    length = int(random.integers(SHORTEST_SEGMENT, LONGEST_SEGMENT + 1))
    if random.random() < 0.5:
        start = int(random.integers(0, len(row) - length + 1))
        segment = row[start : start + length]
    else:
        segment = random.integers(BOS_ID + 1, VOCABULARY, size=length)
    return np.resize(segment, len(row))
