"""Depth products per text: deviation D, eigenvalue heuristic E, norm bound N, in decades."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.stages.common import REAL, blocks
from resolvent.evidence.stages.depth import ROLLOUT, depth_shard
from resolvent.evidence.views import TooFewTexts
from resolvent.evidence.views.tables import entry, head_count, repeat_of, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject


class Products:
    """Depth products of one kind of stack: arrays (texts, layers); column L - 1 is depth L."""

    def __init__(self, parts: list[Shard], load: Callable[[Shard], Result], subject: Subject, texts: int) -> None:
        filled = [arrays for arrays in (load(shard).arrays for shard in parts) if len(arrays["text"])]
        columns = {name: np.concatenate([arrays[name] for arrays in filled]) for name in filled[0]} if filled else {}
        found = len(np.unique(columns["text"])) if filled else 0
        if found < texts:
            raise TooFewTexts(found, texts, f"corpus {subject.corpus} as {subject.name} reads it")
        order = np.lexsort((columns["depth"], columns["text"]))
        self.log10_deviation, self.log10_eigenvalue, self.log10_norm = (
            columns[name][order].reshape(texts, -1) for name in ("log10_deviation", "log10_eigenvalue", "log10_norm")
        )

    @property
    def gap(self) -> np.ndarray:
        """log10(D/E), (texts, layers)."""
        return self.log10_deviation - self.log10_eigenvalue


class Depth:
    """The depth products of the corpus stacks with their nulls. Fixture `depth`."""

    protocol_keys: ClassVar[frozenset[str]] = frozenset({"text", "length", "texts", "nulls", "baseline"})
    null_kinds: ClassVar[frozenset[str]] = frozenset({"layer_permutation", "head_permutation"})

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        parts = cls._parts(subject, protocol)
        return [shard for draws in parts.values() for blocks_ in draws for shard in blocks_]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        parts = self._parts(subject, protocol)
        texts = int(protocol["texts"])
        self._protocol = protocol
        self.layers = int(subject.layers)
        self.real = Products(parts[REAL][0], load, subject, texts)
        self.rollout = Products(parts[ROLLOUT][0], load, subject, texts)
        self._nulls = {
            kind: [Products(draw, load, subject, texts) for draw in parts[kind]] for kind in protocol.get("nulls", {})
        }

    def null_gap(self, kind: str) -> np.ndarray:
        """Mean over draws of the nulls' log10(D/E), (texts, layers)."""
        return np.mean([products.gap for products in entry(self._nulls, kind, what="null")], axis=0)

    def null_deviation(self, kind: str) -> np.ndarray:
        """Mean over draws of the nulls' log10 D, (texts, layers)."""
        return np.mean([products.log10_deviation for products in entry(self._nulls, kind, what="null")], axis=0)

    @cached_property
    def baseline_gap(self) -> np.ndarray:
        """log10(D/E) of the baseline at depth 1..L: uniform causal attention of the same length, (layers,)."""
        from resolvent.operators import depth_products, uniform_attention

        if self._protocol["baseline"] != "uniform_attention":
            raise ResolventError(
                f"protocol: baseline {self._protocol['baseline']} is unknown; allowed: uniform_attention"
            )
        uniform = np.stack([uniform_attention(int(self._protocol["length"]))] * self.layers)
        products = depth_products(uniform)
        return np.asarray(products.log10_deviation - products.log10_eigenvalue)

    @staticmethod
    def _parts(subject: Subject, protocol: Mapping[str, Any]) -> dict[str, list[list[Shard]]]:
        (state,) = states(protocol)
        kinds = {REAL: 1, ROLLOUT: 1, **protocol.get("nulls", {})}
        return {
            kind: [_product_shards(subject, protocol, state, kind, draw) for draw in range(draws)]
            for kind, draws in kinds.items()
        }


class DepthByState:
    """The real stacks' depth products in each state of the protocol, at one length. Fixture `depth_by_state`."""

    protocol_keys: ClassVar[frozenset[str]] = frozenset({"text", "length", "texts", "repeat"})

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        return [
            shard for state in states(protocol) for shard in _product_shards(subject, protocol, state, REAL, draw=0)
        ]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        self._states = {
            state: Products(
                _product_shards(subject, protocol, state, REAL, draw=0), load, subject, int(protocol["texts"])
            )
            for state in states(protocol)
        }

    def __getitem__(self, state: str) -> Products:
        return entry(self._states, state, what="state")


def _product_shards(subject: Subject, protocol: Mapping[str, Any], state: str, kind: str, draw: int) -> list[Shard]:
    length, repeat = int(protocol["length"]), repeat_of(state, protocol)
    return [
        depth_shard(
            subject.name,
            head_count(subject),
            block,
            state=state,
            length=length,
            repeat=repeat,
            kind=kind,
            draw=draw,
        )
        for block in blocks(0, int(protocol["texts"]))
    ]
