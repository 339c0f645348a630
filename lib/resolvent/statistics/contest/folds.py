"""Repeated grouped folds, outer and inner: no head, or no layer, on both sides of any split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.errors import ResolventError

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64, Shaped

    from resolvent.statistics.contest.rule import ContestGenerators, ContestRule

LEFT_OUT = -1
"""Inner fold of the heads that are tested by the outer one."""


class TooFewHeads(ResolventError):
    """Fewer heads, or layers, than the folds need."""

    def __init__(self, grouping: str, found: int, needed: int) -> None:
        super().__init__(f"contest by {grouping}: found {found} {grouping}s, needed are {needed} for the folds")
        self.grouping = grouping
        """"head" or "layer"."""
        self.found = found
        self.needed = needed


class LeakingFold(ResolventError):
    """A split with one group on both sides, or a head on neither."""


@dataclass(frozen=True, eq=False)
class Folds:
    """All splits of one grouping."""

    outer: Int64[np.ndarray, "repeats heads"]
    """The outer fold that tests each head."""
    inner: Int64[np.ndarray, "repeats outer heads"]
    """The inner fold of each head in an outer fold's training part; LEFT_OUT for its test part."""

    def outer_test(self, repeat: int) -> Bool[np.ndarray, "outer heads"]:
        """Which heads each outer fold of a repeat tests; all others train."""
        return self.outer[repeat] == np.arange(self.inner.shape[1])[:, np.newaxis]

    def inner_test(self, repeat: int) -> Bool[np.ndarray, "outer inner heads"]:
        """Which heads each inner fold tests."""
        inner = self.inner[repeat][:, np.newaxis, :]
        return inner == np.arange(self.inner.max() + 1)[:, np.newaxis]


def grouped_folds(
    labels: Shaped[np.ndarray, " heads"], grouping: str, rule: ContestRule, generators: ContestGenerators
) -> Folds:
    """The folds of a rule, all heads of a label together; inner folds are grouped alike.

    A split deals its labels, in the order of `permutation(labels)` of their ascending list, to the folds in turn
    (ours), so that sizes differ by one label at most. Raises TooFewHeads where an outer or an inner fold would be
    left without a label.
    """
    needed = labels_needed(rule.outer_folds, rule.inner_folds)
    if (found := len(np.unique(labels))) < needed:
        raise TooFewHeads(grouping, found, needed)
    outer = np.empty((rule.repeats, len(labels)), dtype=np.int64)
    inner = np.full((rule.repeats, rule.outer_folds, len(labels)), LEFT_OUT, dtype=np.int64)
    for repeat in range(rule.repeats):
        outer[repeat] = dealt(labels, rule.outer_folds, generators.folds(grouping, repeat, "outer"))
        for fold in range(rule.outer_folds):
            training = outer[repeat] != fold
            inner[repeat, fold, training] = dealt(
                labels[training], rule.inner_folds, generators.folds(grouping, repeat, fold)
            )
    return Folds(outer, inner)


def labels_needed(outer: int, inner: int) -> int:
    """The fewest labels of which every outer fold gets one and leaves at least `inner` for its inner folds."""
    needed = max(outer, inner + 1)
    while needed - -(-needed // outer) < inner:
        needed += 1
    return needed


def dealt(labels: Shaped[np.ndarray, " heads"], folds: int, rng: np.random.Generator) -> Int64[np.ndarray, " heads"]:
    """The fold of each head: labels in random order, dealt in turn."""
    unique, label_of = np.unique(labels, return_inverse=True)
    fold_of = np.empty(len(unique), dtype=np.int64)
    fold_of[rng.permutation(len(unique))] = np.arange(len(unique)) % folds
    return fold_of[label_of]


def check_folds(folds: Folds, labels: Shaped[np.ndarray, " heads"]) -> None:
    """Raises LeakingFold unless each split keeps every label on one side and tests each head of its own once."""
    count = folds.inner.shape[1]
    for repeat, outer in enumerate(folds.outer):
        _check_split(outer, labels, f"repeat {repeat}, outer folds", count)
        for fold in range(count):
            inner = folds.inner[repeat, fold]
            training = outer != fold
            where = f"repeat {repeat}, inner folds of outer fold {fold}"
            if not np.array_equal(inner == LEFT_OUT, ~training):
                head = int(np.flatnonzero((inner == LEFT_OUT) == training)[0])
                raise LeakingFold(f"{where}: head {head} is on both sides of the outer fold, or on neither")
            _check_split(inner[training], labels[training], where, int(folds.inner.max()) + 1)


def _check_split(fold_of: np.ndarray, labels: np.ndarray, where: str, count: int) -> None:
    if set(np.unique(fold_of)) != set(range(count)):
        raise LeakingFold(f"{where}: the folds are {np.unique(fold_of).tolist()}; needed are 0 to {count - 1}")
    pairs = np.unique(np.stack([np.unique(labels, return_inverse=True)[1], fold_of]), axis=1)
    several = np.flatnonzero(np.bincount(pairs[0]) > 1)
    if len(several):
        label = np.unique(labels)[several[0]]
        raise LeakingFold(f"{where}: group {label} is in more than one fold, so that one trains on what it tests")
