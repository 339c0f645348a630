"""Heads in several states at one length: what changes when a head's trigger appears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.evidence.stages.behaviour import behaviour_shard
from resolvent.evidence.stages.common import blocks
from resolvent.evidence.views.census import StateCensus, state_shards
from resolvent.evidence.views.tables import HEAD_NULLS, HeadTables, entry, head_count, layer_labels, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject

PROBE = "repeat_probe"


class Engagement:
    """The census of each state, and head scores from probes of their own. Fixture `engagement`.

    A score is a head's median over texts. Induction and duplicate-token scores, and with them the classes, come from
    `score_texts` further probes, so that no class is chosen on the data it is tested on; the previous-token score is
    that of the corpus at the same length.

    layer                                      (heads,)
    induction_score, duplicate_token_score,    (heads,)
    previous_token_score
    loss_drop                                  nats, median over the measured probes
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset(
        {"text", "repeat", "length", "texts", "score_texts", "nulls", "classes"}
    )
    null_kinds: ClassVar[frozenset[str]] = HEAD_NULLS

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        found = [
            shard
            for state in states(protocol)
            for draws in state_shards(subject, protocol, state, protocol["nulls"]).values()
            for part in draws
            for shard in part
        ]
        return [*found, *cls._measured(subject, protocol), *cls._scored(subject, protocol)]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        self._states = {
            state: StateCensus(subject, protocol, state, protocol["nulls"], load) for state in states(protocol)
        }
        self.layer = layer_labels(subject)
        scored = HeadTables(subject, self._scored(subject, protocol), load, int(protocol["score_texts"]))
        self.induction_score = scored.median("induction_score")
        self.duplicate_token_score = scored.median("duplicate_token_score")
        self.previous_token_score = self._states["corpus"].median("previous_token_mass")
        measured = HeadTables(subject, self._measured(subject, protocol), load, int(protocol["texts"]))
        self.loss_drop = float(np.median(measured["loss_drop"][:, 0]))
        self._classes = protocol["classes"]

    def __getitem__(self, state: str) -> StateCensus:
        return entry(self._states, state, what="state")

    def in_class(self, name: str) -> np.ndarray:
        """The heads whose score reaches the protocol's threshold for the class, bool (heads,)."""
        scores = {
            "induction": self.induction_score,
            "duplicate_token": self.duplicate_token_score,
            "previous_token": self.previous_token_score,
        }
        return entry(scores, name, what="class") >= float(self._classes[name])

    def excess_change(self, kind: str, *, to: str = PROBE, since: str = "corpus") -> np.ndarray:
        """Per head the excess in one state minus that in another, each over the null of its own state, bits."""
        return self._states[to].excess(kind) - self._states[since].excess(kind)

    @staticmethod
    def _measured(subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
        return _behaviour(subject, protocol, 0, int(protocol["texts"]))

    @staticmethod
    def _scored(subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
        return _behaviour(subject, protocol, SCORED_FROM, SCORED_FROM + int(protocol["score_texts"]))


SCORED_FROM = 32
"""Index of the first score text: the ones after the first 32 (prereg/subjects.yaml), whatever `texts` is."""


def _behaviour(subject: Subject, protocol: Mapping[str, Any], start: int, stop: int) -> list[Shard]:
    repeat = int(protocol["repeat"])
    return [behaviour_shard(subject.name, head_count(subject), block, repeat=repeat) for block in blocks(start, stop)]
