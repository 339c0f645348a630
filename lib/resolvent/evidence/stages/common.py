"""What the stages share: blocks of texts, the decoding of captured attention, and rows of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Call, Result

if TYPE_CHECKING:
    from jaxtyping import Float64

TEXTS_PER_BLOCK = 8
"""Texts of a capture shard: one forward pass of seconds; captured attention of 8 texts of a 270-head model is 71 MB."""

CAPTURED_LENGTH = 128
"""Positions of a captured corpus text; a shorter length is the leading block of the same maps."""

FINAL = "final"
"""The checkpoint of a model that has no series, and the last one of a model that has."""


REAL = "real"
"""The kind of a shard that measures the model's own maps; any other kind names a null."""


@dataclass(frozen=True)
class Block:
    """Texts start..stop-1 of a state, all from the capture block that begins at `captured`."""

    captured: int
    start: int
    stop: int

    def __str__(self) -> str:
        return f"{self.start}-{self.stop - 1}"


def blocks(start: int, stop: int) -> Iterator[Block]:
    """Texts start..stop-1 cut along the capture blocks, so that claims with other numbers of texts share captures."""
    for captured in range(start - start % TEXTS_PER_BLOCK, stop, TEXTS_PER_BLOCK):
        yield Block(captured, max(start, captured), min(stop, captured + TEXTS_PER_BLOCK))


def text_label(state: str, length: int, checkpoint: str) -> str:
    """`corpus@128`, and `corpus@128/step512` for a checkpoint of a series."""
    return f"{state}@{length}" if checkpoint == FINAL else f"{state}@{length}/{checkpoint}"


@dataclass(frozen=True)
class TextMaps:
    """All attention of one text: maps (layers, heads, n, n) float64, causal stochastic."""

    index: int
    text_id: str
    maps: Float64[np.ndarray, "layers heads n n"]


def captured_maps(call: Call) -> Iterator[TextMaps]:
    """The maps of the call's texts (params start, stop, length) out of its first input, a capture result."""
    return text_maps(call, call.inputs[0])


def text_maps(call: Call, capture: Result) -> Iterator[TextMaps]:
    """The maps of the call's texts (params start, stop, length) out of captured attention.

    Texts that the corpus could not provide are simply not there: a view counts what it got.
    Raises CausalStochasticError naming subject, text, layer, head and row.
    """
    from resolvent.operators import check_causal_stochastic, unpack_lower

    attention = capture.arrays["attention"]
    first = int(capture.metadata["start"])
    captured = int(capture.metadata["length"])
    length = int(call.params["length"])
    if length > captured:
        raise ResolventError(f"{call.subject.name}: length {length} asked, attention is captured at {captured}")
    text_ids = json.loads(capture.metadata["text_ids"])
    for index in range(call.params["start"], min(call.params["stop"], first + len(attention))):
        text_id = str(text_ids[index - first])

        def where(at: tuple[int, ...], text_id: str = text_id) -> str:
            return f"{call.subject.name}, {call.params['state']} text {text_id}, layer {at[0]}, head {at[1]}"

        maps = unpack_lower(attention[index - first], captured, length=length)
        yield TextMaps(index, text_id, check_causal_stochastic(maps, where=where))


def null_key(
    call: Call, kind: str, text_id: str, layer: int, head: int | str, draw: int | str
) -> tuple[str | int, ...]:
    """The fields that key one null draw (prereg/subjects.yaml, `nulls`)."""
    checkpoint = call.params["checkpoint"]
    return ("null", kind, call.subject.name, checkpoint, call.params["state"], text_id, layer, head, draw)


def null_maps(call: Call, text: TextMaps, kind: str, draw: int) -> Float64[np.ndarray, "layers heads n n"]:
    """One null matrix for each head of a text."""
    from resolvent.keyed_random import generator
    from resolvent.operators import bos_preserving, dirichlet, row_permutation

    draws = {
        "row_permutation": row_permutation,
        "bos_preserving": bos_preserving,
        "dirichlet": lambda matrix, rng: dirichlet(matrix.shape[-1], rng),
    }
    if kind not in draws:
        raise ResolventError(f"null '{kind}' is not a null of single heads; allowed: {', '.join(draws)}")
    nulls = np.empty_like(text.maps)
    for layer, head in np.ndindex(text.maps.shape[:2]):
        rng = generator(call.seed, *null_key(call, kind, text.text_id, layer, head, draw))
        nulls[layer, head] = draws[kind](text.maps[layer, head], rng)
    return nulls


class HeadTable:
    """Rows of a table with one row a text, layer and head, collected text by text."""

    def __init__(self) -> None:
        self._parts: dict[str, list[np.ndarray]] = {}

    def add(self, text: TextMaps, columns: Mapping[str, Any]) -> None:
        """Columns of shape (layers, heads), or scalars of the whole text."""
        shape = text.maps.shape[:2]
        layer, head = np.indices(shape)
        row = {"text": np.full(shape, text.index), "layer": layer, "head": head, **columns}
        for name, values in row.items():
            self._parts.setdefault(name, []).append(np.broadcast_to(np.asarray(values), shape).reshape(-1))

    def result(self) -> Result:
        """All rows; an empty table where there was no text."""
        if not self._parts:
            return Result({name: np.empty(0, dtype=np.int64) for name in ("text", "layer", "head")})
        return Result({name: np.concatenate(parts) for name, parts in self._parts.items()})
