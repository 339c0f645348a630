"""The residual stream over texts and boundaries, beside the attention to BOS that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.stages.battery import battery_shard
from resolvent.evidence.stages.common import blocks
from resolvent.evidence.stages.residual import residual_shard
from resolvent.evidence.views import TooFewTexts
from resolvent.evidence.views.tables import HeadTables, entry, head_count, repeat_of, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject

ONSET = {"massive": "boundary_read", "sink": "layer", "jump": "difference"}
"""The one convention of onsets there is (prereg/massive_timing.yaml): other words are refused."""


def residual_shards(subject: Subject, protocol: Mapping[str, Any], start: int, stop: int) -> list[Shard]:
    """The residual stream of texts start..stop-1 of the protocol's one state."""
    (state,) = states(protocol)
    length, repeat = int(protocol["length"]), repeat_of(state, protocol)
    return [
        residual_shard(subject.name, block, state=state, length=length, repeat=repeat) for block in blocks(start, stop)
    ]


def battery_shards(subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
    """The battery of the untouched heads on the protocol's texts."""
    (state,) = states(protocol)
    length, repeat = int(protocol["length"]), repeat_of(state, protocol)
    return [
        battery_shard(subject.name, head_count(subject), block, state=state, length=length, repeat=repeat)
        for block in blocks(0, int(protocol["texts"]))
    ]


class Boundaries:
    """Arrays of the residual stage over a run of texts, texts first. Raises TooFewTexts where texts are missing."""

    def __init__(self, subject: Subject, parts: Iterable[Shard], load: Callable[[Shard], Result], texts: int) -> None:
        arrays = [load(shard).arrays for shard in parts]
        found = sum(len(part["text"]) for part in arrays)
        if found < texts:
            raise TooFewTexts(found, texts, f"corpus {subject.corpus} as {subject.name} reads it")
        self._arrays = {
            name: np.concatenate([part[name] for part in arrays if len(part["text"])]) for name in arrays[0]
        }

    def __getitem__(self, name: str) -> np.ndarray:
        """Array `name`, (texts, …)."""
        return entry(self._arrays, name, what="array of the residual stream")

    @property
    def massive_ratio(self) -> float:
        """Largest magnitude at BOS over the boundary's median one: maximum over boundaries, median over texts."""
        from resolvent.representations import massive_ratio

        return massive_ratio(self["bos_magnitude"].max(axis=-1), self["median_magnitude"])


class ResidualStream:
    """Massive activations and the sink, layer by layer. Fixture `residual_stream`.

    boundaries      the arrays of the residual stage
    bos_attention   (texts, layers) mean over heads and rows >= 1 of the attention to BOS
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset({"text", "length", "texts", "onset"})

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        return [*residual_shards(subject, protocol, 0, int(protocol["texts"])), *battery_shards(subject, protocol)]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        if protocol["onset"] != ONSET:
            raise ResolventError(f"protocol: onset {protocol['onset']} is unknown; allowed: {ONSET}")
        texts = int(protocol["texts"])
        self.boundaries = Boundaries(subject, residual_shards(subject, protocol, 0, texts), load, texts)
        heads = HeadTables(subject, battery_shards(subject, protocol), load, texts)["bos_mass"]
        self.bos_attention = heads.reshape(texts, int(subject.layers), -1).mean(axis=2)
        self.mean_bos_attention = float(np.median(heads, axis=0).mean())
        """Per head the median over texts of its attention to BOS, mean over heads."""

    @cached_property
    def massive_onset(self) -> np.ndarray:
        """Per text the layer that reads the boundary with the largest rise of max |x_d| at BOS."""
        from resolvent.representations import onsets

        # The last boundary is read by no layer.
        return onsets(self.boundaries["bos_magnitude"].max(axis=-1)[:, :-1])[0]

    @cached_property
    def sink_onset(self) -> np.ndarray:
        """Per text the layer with the largest rise of the attention to BOS over the layer below."""
        return self._sink[0]

    @cached_property
    def sink_jump(self) -> np.ndarray:
        """Per text that rise."""
        return self._sink[1]

    @cached_property
    def _sink(self) -> tuple[np.ndarray, np.ndarray]:
        from resolvent.representations import onsets

        return onsets(self.bos_attention)
