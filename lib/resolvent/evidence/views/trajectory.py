"""Trajectories over the checkpoints of a training run: one set of shards a checkpoint, arrays (checkpoints, heads)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.stages.behaviour import behaviour_shard
from resolvent.evidence.stages.common import blocks
from resolvent.evidence.stages.concentration import concentration_shard
from resolvent.evidence.stages.rotation import rotation_shard
from resolvent.evidence.views.census import StateCensus, state_shards
from resolvent.evidence.views.engagement import SCORED_FROM
from resolvent.evidence.views.tables import HEAD_NULLS, HeadTables, head_count, layer_labels, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject

STATE = "corpus"
"""What every trajectory is measured on, but for the scores of the probe."""


def checkpoints(subject: Subject) -> tuple[str, ...]:
    """The checkpoints of a subject as stages name them, ascending. Raises ResolventError where it has no series."""
    if subject.series is None:
        raise ResolventError(f"{subject.name}: no series of checkpoints is declared, so there is no trajectory")
    return tuple(str(step) for step in subject.series.steps)


class Trajectory:
    """The census of every checkpoint on the corpus. Fixture `trajectory`.

    steps  of the checkpoints, ascending
    layer  (heads,)
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset(
        {
            "text",
            "length",
            "texts",
            "nulls",
            "classes",
            "crossing",
            "onset",
            "sink_mass",
            "damped_kreiss_ratio",
            "damped_bits",
        }
    )
    null_kinds: ClassVar[frozenset[str]] = HEAD_NULLS

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        """Battery and null shards of every checkpoint."""
        return [
            shard
            for checkpoint in checkpoints(subject)
            for draws in state_shards(subject, protocol, STATE, protocol.get("nulls", {}), checkpoint).values()
            for part in draws
            for shard in part
        ]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        if STATE not in states(protocol):
            raise ResolventError(f"protocol: a trajectory is measured on the {STATE}; text is {protocol['text']}")
        found = checkpoints(subject)
        self.steps = tuple(int(checkpoint) for checkpoint in found)
        self.layer = layer_labels(subject)
        self._length = int(protocol["length"])
        self._classes = protocol.get("classes", {})
        self._censuses = [
            StateCensus(subject, protocol, STATE, protocol.get("nulls", {}), load, checkpoint) for checkpoint in found
        ]

    def median(self, name: str) -> np.ndarray:
        """Per checkpoint and head the median over texts of a battery column."""
        return np.stack([census.median(name) for census in self._censuses])

    def excess(self, kind: str) -> np.ndarray:
        """Per checkpoint and head the median excess over the nulls of the same checkpoint, bits."""
        return np.stack([census.excess(kind) for census in self._censuses])

    @property
    def log2_kreiss(self) -> np.ndarray:
        """Per checkpoint and head the median over texts of log2 K_dev."""
        return np.stack([np.median(np.log2(census.real["kreiss"]), axis=0) for census in self._censuses])

    @property
    def log2_law(self) -> np.ndarray:
        """Per checkpoint and head the median over texts of log2 K(p) at the text's BOS mass p (bos_mass_law)."""
        from resolvent.operators import kreiss_from_bos_mass

        return np.stack(
            [
                np.median(np.log2(kreiss_from_bos_mass(census.real["bos_mass"], self._length)), axis=0)
                for census in self._censuses
            ]
        )

    @property
    def previous_token_heads(self) -> np.ndarray:
        """The heads whose previous-token score at the last checkpoint reaches the protocol's threshold."""
        return self.median("previous_token_mass")[-1] >= float(self._classes["previous_token"])


class ScoreTrajectory:
    """What the heads of every checkpoint do on the repeat probes kept for scores. Fixture `score_trajectory`.

    induction_score  (checkpoints, heads), median over probes
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset({"text", "repeat", "length", "score_texts", "classes"})

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        """Behaviour shards of every checkpoint; no battery."""
        return [shard for checkpoint in checkpoints(subject) for shard in cls._scored(subject, protocol, checkpoint)]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        texts = int(protocol["score_texts"])
        self._threshold = float(protocol["classes"]["induction"])
        self.induction_score = np.stack(
            [
                HeadTables(subject, self._scored(subject, protocol, checkpoint), load, texts).median("induction_score")
                for checkpoint in checkpoints(subject)
            ]
        )

    @property
    def induction_heads(self) -> np.ndarray:
        """The heads whose induction score at the last checkpoint reaches the protocol's threshold."""
        return self.induction_score[-1] >= self._threshold

    @staticmethod
    def _scored(subject: Subject, protocol: Mapping[str, Any], checkpoint: str) -> list[Shard]:
        repeat, stop = int(protocol["repeat"]), SCORED_FROM + int(protocol["score_texts"])
        return [
            behaviour_shard(subject.name, head_count(subject), block, repeat=repeat, checkpoint=checkpoint)
            for block in blocks(SCORED_FROM, stop)
        ]


class WeightTrajectory:
    """The weight-space measure of every checkpoint. Fixture `weight_trajectory`.

    d_head  (checkpoints, heads), log2
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        """One shard a checkpoint."""
        return [rotation_shard(subject.name, checkpoint=checkpoint) for checkpoint in checkpoints(subject)]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        self.d_head = np.stack([self._by_head(load(shard)) for shard in self.shards(subject, subjects, protocol)])

    @staticmethod
    def _by_head(table: Result) -> np.ndarray:
        order = np.lexsort((table.arrays["head"], table.arrays["layer"]))
        return np.asarray(table.arrays["d_head"][order])


class ConcentrationTrajectory:
    """On how few columns the heads of every checkpoint gather. Fixture `concentration_trajectory`.

    top_column_share  (checkpoints, heads), median over texts
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset(
        {"text", "length", "texts", "columns", "column_share", "entropy"}
    )

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        """Concentration shards of every checkpoint."""
        return [shard for checkpoint in checkpoints(subject) for shard in cls._measured(subject, protocol, checkpoint)]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        texts = int(protocol["texts"])
        self.top_column_share = np.stack(
            [
                HeadTables(subject, self._measured(subject, protocol, checkpoint), load, texts).median(
                    "top_column_share"
                )
                for checkpoint in checkpoints(subject)
            ]
        )

    @staticmethod
    def _measured(subject: Subject, protocol: Mapping[str, Any], checkpoint: str) -> list[Shard]:
        return [
            concentration_shard(
                subject.name,
                head_count(subject),
                block,
                state=STATE,
                length=int(protocol["length"]),
                repeat=None,
                columns=int(protocol["columns"]),
                checkpoint=checkpoint,
            )
            for block in blocks(0, int(protocol["texts"]))
        ]
