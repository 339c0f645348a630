"""From rows of head tables to arrays (texts, heads), heads numbered layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.views import TooFewTexts

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import Subject

GROWTH_RATIO = 1.05
"""Where a claim's protocol names no growth_ratio: nulls are then not judged for growth, the column is only shared."""


HEAD_NULLS = frozenset({"row_permutation", "bos_preserving", "dirichlet"})
"""The nulls of single heads."""

T = TypeVar("T")


def entry(found: Mapping[str, T], name: str, *, what: str) -> T:
    """The entry of that name. Raises ResolventError that says what there is."""
    if name not in found:
        raise ResolventError(f"no {what} '{name}'; there are: {', '.join(found)}")
    return found[name]


def head_count(subject: Subject) -> int:
    """Heads of the whole model."""
    return int(subject.layers) * int(subject.heads)


def layer_labels(subject: Subject) -> np.ndarray:
    """The layer of every head, heads numbered layer by layer."""
    return np.repeat(np.arange(subject.layers), subject.heads)


def states(protocol: Mapping[str, Any]) -> tuple[str, ...]:
    """The states of a protocol: `text` is one word or a list."""
    text = protocol["text"]
    return (text,) if isinstance(text, str) else tuple(text)


def repeat_of(state: str, protocol: Mapping[str, Any]) -> int | None:
    """T of a probe, None for the corpus. Raises ResolventError where a probe has no `repeat`, or another length."""
    if state == "corpus":
        return None
    if "repeat" not in protocol:
        raise ResolventError(f"protocol: text {state} needs `repeat`, the number of repeated tokens")
    repeat = int(protocol["repeat"])
    if int(protocol["length"]) > 2 * repeat + 1:
        raise ResolventError(f"protocol: length {protocol['length']} is longer than a probe of repeat {repeat}")
    return repeat


def one_row_a_head(subject: Subject, result: Result) -> dict[str, np.ndarray]:
    """Columns of a table without texts as arrays (heads,), heads numbered layer by layer.

    Raises ResolventError unless there is one row for every head.
    """
    columns = result.arrays
    head = columns["layer"].astype(np.int64) * int(subject.heads) + columns["head"].astype(np.int64)
    order = np.argsort(head, kind="stable")
    if not np.array_equal(head[order], np.arange(head_count(subject))):
        raise ResolventError(f"{subject.name}: a table of {len(head)} rows is not one row for each of its heads")
    return {name: values[order] for name, values in columns.items() if name not in ("layer", "head")}


class HeadTables:
    """Columns of a set of head tables (one a block of texts), as arrays (texts, heads).

    Raises TooFewTexts where fewer texts than `texts` are there.
    """

    def __init__(self, subject: Subject, parts: Iterable[Shard], load: Callable[[Shard], Result], texts: int) -> None:
        self._heads = int(subject.heads)
        results = [load(shard).arrays for shard in parts]
        filled = [arrays for arrays in results if len(arrays["text"])]
        found = len(np.unique(np.concatenate([arrays["text"] for arrays in results]))) if results else 0
        if found < texts:
            raise TooFewTexts(found, texts, f"corpus {subject.corpus} as {subject.name} reads it")
        self._columns = {name: np.concatenate([arrays[name] for arrays in filled]) for name in filled[0]}
        head = self._columns["layer"].astype(np.int64) * self._heads + self._columns["head"].astype(np.int64)
        order = np.lexsort((head, self._columns["text"]))
        self._columns = {name: values[order] for name, values in self._columns.items()}
        self._texts = texts

    def __getitem__(self, name: str) -> np.ndarray:
        """Column `name` as (texts, heads). Raises ResolventError that names the columns where there is none such."""
        return entry(self._columns, name, what="column").reshape(self._texts, -1)

    def median(self, name: str) -> np.ndarray:
        """Per head the median over texts."""
        return np.median(self[name], axis=0)
