"""The model without the MLP at BOS where massive activations emerge: sinks, valley, norms and damping past it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.stages.bos_mlp import Run, bos_mlp_shard, chosen_layers
from resolvent.evidence.stages.common import Block, blocks
from resolvent.evidence.views.residual_stream import Boundaries, battery_shards, residual_shards
from resolvent.evidence.views.tables import HeadTables, head_count, layer_labels, repeat_of, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject

SELECTED_FROM = 32
"""Index of the first text that chooses layers: the ones after the first 32 (prereg/subjects.yaml)."""

SCALES = (0.75, 0.5, 0.25)
"""Doses between the untouched model (1) and the ablation (0), on the first DOSE_TEXTS texts; no criterion is on one."""

DOSE_TEXTS = 8


class Condition:
    """One condition, over the layers past emergence and the boundaries that they read.

    heads      (texts, heads) columns of those heads' battery, by name
    boundary   (texts, boundaries) columns of those boundaries, by name
    """

    def __init__(
        self, heads: Callable[[str], np.ndarray], boundary: Callable[[str], np.ndarray], *, length: int
    ) -> None:
        self.heads = heads
        self.boundary = boundary
        self._length = length

    def sink_rate(self, threshold: float, comparison: Literal[">", ">="] = ">") -> float:
        """Fraction of heads whose sink score (median over texts) passes the threshold."""
        from resolvent.representations import bos_sink_scores, sink_rate

        scores = np.median(bos_sink_scores(self.heads("bos_mass"), self._length), axis=0)
        return sink_rate(scores, threshold, comparison)

    @property
    def bos_attention(self) -> float:
        """Median over texts, mean over heads."""
        return float(np.median(self.heads("bos_mass"), axis=0).mean())

    @property
    def kreiss(self) -> float:
        """Median over texts, then over heads, of K_dev."""
        return float(np.median(np.median(self.heads("kreiss"), axis=0)))

    @property
    def largest_kreiss_gap(self) -> float:
        """Largest relative distance of the bounds on K_dev."""
        return float((self.heads("kreiss_upper") / self.heads("kreiss") - 1).max())

    @property
    def law_error(self) -> float:
        """Median over heads of |log2 K_dev − log2 K(p)|, p the head's BOS mass (medians over texts first), bits."""
        from resolvent.operators import kreiss_from_bos_mass

        law = kreiss_from_bos_mass(self.heads("bos_mass"), self._length)
        return float(np.median(np.median(np.abs(np.log2(self.heads("kreiss")) - np.log2(law)), axis=0)))

    def lowest(self, entropy: str) -> float:
        """Lowest over boundaries of the entropy's median over texts."""
        return float(np.median(self.boundary(entropy), axis=0).min())

    @property
    def bos_norm_ratio(self) -> float:
        """Largest over boundaries of BOS norm over the median norm of the other tokens, median over texts."""
        return _largest_ratio(self.boundary("bos_norm"), self.boundary("median_norm"))

    @property
    def other_norm_ratio(self) -> float:
        """The same for the largest of the other tokens: does another row become massive?"""
        return _largest_ratio(self.boundary("largest_norm"), self.boundary("median_norm"))


class BosMlp:
    """Base, ablation, controls and doses. Fixture `bos_mlp`.

    factors      (layers,) emergence factor of each layer, on the texts that choose
    emerging     the layers of emergence; all are ablated together
    ordinary     the layers that controls are drawn from
    after        the layers past the last of emergence
    Past `estimable` only: base, ablated, controls (Condition each), `dose` (scale -> Condition on DOSE_TEXTS texts).
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset(
        {"text", "length", "texts", "select_texts", "emergence", "after", "controls", "sink_threshold"}
    )

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        texts = int(protocol["texts"])
        return [
            *_selecting(subject, protocol),
            *residual_shards(subject, protocol, 0, texts),
            *battery_shards(subject, protocol),
            *(shard for run in _runs(protocol) for shard in _run_shards(subject, protocol, run)),
        ]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        from resolvent.representations import emergence_factors

        if protocol["after"] != "last":
            raise ResolventError(f"protocol: after {protocol['after']} is unknown; allowed: last")
        self._subject, self._protocol, self._load = subject, protocol, load
        self._layer = layer_labels(subject)
        chosen_on = Boundaries(subject, _selecting(subject, protocol), load, int(protocol["select_texts"]))
        self.factors = emergence_factors(chosen_on["bos_norm"][:, 1:], chosen_on["bos_norm_without_mlp"])
        ratio, below = _thresholds(protocol)
        self.emerging, self.ordinary = chosen_layers(self.factors, ratio, below)
        first_after = int(self.emerging[-1]) + 1 if len(self.emerging) else int(subject.layers)
        self.after = np.arange(first_after, int(subject.layers))

    @property
    def estimable(self) -> bool:
        """Whether there are layers to ablate, layers past them, and enough others for controls."""
        return bool(len(self.emerging) and len(self.after) and len(self.ordinary) >= len(self.emerging))

    @cached_property
    def base(self) -> Condition:
        table = HeadTables(self._subject, battery_shards(self._subject, self._protocol), self._load, self._texts)
        boundaries = self._base_boundaries
        return Condition(
            lambda name: table[name][:, self._chosen],
            lambda name: boundaries[name][:, self.after],
            length=int(self._protocol["length"]),
        )

    @cached_property
    def ablated(self) -> Condition:
        return self._condition(Run(*_thresholds(self._protocol)), self._texts)

    @cached_property
    def controls(self) -> list[Condition]:
        return [self._condition(run, self._texts) for run in _runs(self._protocol) if run.control is not None]

    @cached_property
    def dose(self) -> dict[float, Condition]:
        runs = [run for run in _runs(self._protocol) if run.scale > 0]
        return {run.scale: self._condition(run, min(DOSE_TEXTS, self._texts)) for run in runs}

    def entropy_before(self, entropy: str) -> float:
        """Median over texts of the base entropy at the boundary that the first layer of emergence reads."""
        return float(np.median(self._base_boundaries[entropy][:, int(self.emerging[0])]))

    def valley(self, entropy: str) -> float:
        """How far the base entropy falls: before emergence minus its lowest past it."""
        return self.entropy_before(entropy) - self.base.lowest(entropy)

    @cached_property
    def _base_boundaries(self) -> Boundaries:
        parts = residual_shards(self._subject, self._protocol, 0, self._texts)
        return Boundaries(self._subject, parts, self._load, self._texts)

    @property
    def _texts(self) -> int:
        return int(self._protocol["texts"])

    @property
    def _chosen(self) -> np.ndarray:
        return np.isin(self._layer, self.after)

    def _condition(self, run: Run, texts: int) -> Condition:
        table = HeadTables(self._subject, _run_shards(self._subject, self._protocol, run), self._load, texts)
        # What a boundary has stands in every row of the layer that reads it.
        first_heads = self.after * int(self._subject.heads)
        return Condition(
            lambda name: table[name][:, self._chosen],
            lambda name: table[name][:, first_heads],
            length=int(self._protocol["length"]),
        )


def _largest_ratio(norms: np.ndarray, typical: np.ndarray) -> float:
    return float(np.median((norms / typical).max(axis=1)))


def _thresholds(protocol: Mapping[str, Any]) -> tuple[float, float]:
    """Emergence ratio, and the factor below which a layer may be a control."""
    return float(protocol["emergence"]["ratio"]), float(protocol["controls"]["below"])


def _runs(protocol: Mapping[str, Any]) -> list[Run]:
    """The ablation, the controls, the doses."""
    ratio, below = _thresholds(protocol)
    return [
        Run(ratio, below),
        *(Run(ratio, below, control=draw) for draw in range(int(protocol["controls"]["draws"]))),
        *(Run(ratio, below, scale=scale) for scale in SCALES),
    ]


def _selecting(subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
    return residual_shards(subject, protocol, SELECTED_FROM, SELECTED_FROM + int(protocol["select_texts"]))


def _run_shards(subject: Subject, protocol: Mapping[str, Any], run: Run) -> list[Shard]:
    (state,) = states(protocol)
    texts = int(protocol["texts"])
    cut: list[Block] = list(blocks(0, min(DOSE_TEXTS, texts) if run.scale > 0 else texts))
    return [
        bos_mlp_shard(
            subject.name,
            head_count(subject),
            block,
            selected_on=list(blocks(SELECTED_FROM, SELECTED_FROM + int(protocol["select_texts"]))),
            state=state,
            length=int(protocol["length"]),
            repeat=repeat_of(state, protocol),
            run=run,
        )
        for block in cut
    ]
