"""The deviation at depth n, and the dominant modes, over heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.evidence.stages.common import blocks
from resolvent.evidence.stages.transients import mode_shard, residual_shard
from resolvent.evidence.views.tables import HeadTables, head_count, repeat_of, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject


class Residuals:
    """||A_dev^n|| at n = length. Fixture `residuals`."""

    protocol_keys: ClassVar[frozenset[str]] = frozenset({"text", "length", "texts"})

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        return _shards(residual_shard, subject, protocol)

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        table = HeadTables(subject, self.shards(subject, subjects, protocol), load, int(protocol["texts"]))
        self.log10_norm = table["log10_norm"]
        """log10 ||A_dev||, (texts, heads)."""
        self.log10_residual = table["log10_residual"]
        """log10 ||A_dev^n||, (texts, heads)."""


class Modes:
    """The top singular pair of A_dev^k_sup where the peak is interior. Fixture `modes`."""

    protocol_keys: ClassVar[frozenset[str]] = frozenset({"text", "length", "texts"})

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        return _shards(mode_shard, subject, protocol)

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        self._table = HeadTables(subject, self.shards(subject, subjects, protocol), load, int(protocol["texts"]))

    def median_share(self, name: str, heads: np.ndarray) -> float:
        """Median over the chosen heads and their texts with a finite interior peak; NaN where there is none."""
        values = self._table[name][:, heads]
        values = values[np.isfinite(values)]
        return float(np.median(values)) if len(values) else float("nan")


def _shards(shard: Callable[..., Shard], subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
    (state,) = states(protocol)
    length, repeat = int(protocol["length"]), repeat_of(state, protocol)
    return [
        shard(subject.name, head_count(subject), block, state=state, length=length, repeat=repeat)
        for block in blocks(0, int(protocol["texts"]))
    ]
