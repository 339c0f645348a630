"""The model with its massive dims clamped, beside the untouched one and random-dim controls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.evidence.stages.clamp import clamp_shard
from resolvent.evidence.stages.common import blocks
from resolvent.evidence.views.residual_stream import Boundaries, battery_shards, residual_shards
from resolvent.evidence.views.tables import HeadTables, head_count, repeat_of, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject


class Heads:
    """One condition, over all heads and texts. Every value is the median over texts first, then over heads as said.

    bos_attention, self_attention, previous_token_attention   mean over heads
    row_entropy   mean over heads, nats
    kreiss        median over heads of K_dev
    largest_kreiss_gap  largest relative distance of the bounds on K_dev, over texts and heads
    """

    def __init__(self, table: HeadTables) -> None:
        self.bos_attention = float(table.median("bos_mass").mean())
        self.self_attention = float(table.median("diagonal_mass").mean())
        self.previous_token_attention = float(table.median("previous_token_mass").mean())
        self.row_entropy = float(table.median("row_entropy").mean())
        self.kreiss = float(np.median(table.median("kreiss")))
        self.largest_kreiss_gap = float((table["kreiss_upper"] / table["kreiss"] - 1).max())


class Effect:
    """A clamp against the untouched model.

    bos_attention_drop  relative fall of the mean BOS attention
    kreiss_ratio        median K_dev over that of the base
    stripe_change       larger of the absolute changes of self and previous-token attention
    entropy_rise_nats   of the mean row entropy
    loss_rise_nats      median over texts of the rise in mean cross-entropy
    largest_kreiss_gap  of the clamped heads
    """

    def __init__(self, base: Heads, clamped: Heads, loss_rise: np.ndarray) -> None:
        self.largest_kreiss_gap = clamped.largest_kreiss_gap
        # NaN for a base without any, which the claims require to be there.
        with np.errstate(invalid="ignore", divide="ignore"):
            self.bos_attention_drop = float(1 - np.divide(clamped.bos_attention, base.bos_attention))
        self.kreiss_ratio = clamped.kreiss / base.kreiss
        self.stripe_change = max(
            abs(clamped.self_attention - base.self_attention),
            abs(clamped.previous_token_attention - base.previous_token_attention),
        )
        self.entropy_rise_nats = clamped.row_entropy - base.row_entropy
        self.loss_rise_nats = float(np.median(loss_rise))


class Clamping:
    """Base, clamp, the other mode and the controls of a protocol. Fixture `clamping`.

    base       the untouched heads
    clamped    effect of the protocol's `mode`
    also       effect of its mode `also`
    controls   effect of each draw of random dims
    boundaries the residual stream of the untouched model
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset(
        {"text", "length", "texts", "dims", "mode", "also", "random_controls"}
    )

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        return [
            *residual_shards(subject, protocol, 0, int(protocol["texts"])),
            *battery_shards(subject, protocol),
            *(shard for mode, draw in _runs(protocol) for shard in _clamp_shards(subject, protocol, mode, draw)),
        ]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        texts = int(protocol["texts"])
        self.boundaries = Boundaries(subject, residual_shards(subject, protocol, 0, texts), load, texts)
        self.base = Heads(HeadTables(subject, battery_shards(subject, protocol), load, texts))

        def effect(mode: str, draw: int) -> Effect:
            table = HeadTables(subject, _clamp_shards(subject, protocol, mode, draw), load, texts)
            rise = table["cross_entropy"][:, 0] - self.boundaries["cross_entropy"]
            return Effect(self.base, Heads(table), rise)

        effects = [effect(mode, draw) for mode, draw in _runs(protocol)]
        self.clamped, self.also, *self.controls = effects


def _runs(protocol: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    """Mode and draw of every run: the claim's, the other one, the controls."""
    return [
        (protocol["mode"], 0),
        (protocol["also"], 0),
        *(("random", draw) for draw in range(int(protocol["random_controls"]))),
    ]


def _clamp_shards(subject: Subject, protocol: Mapping[str, Any], mode: str, draw: int) -> list[Shard]:
    (state,) = states(protocol)
    cut = list(blocks(0, int(protocol["texts"])))
    return [
        clamp_shard(
            subject.name,
            head_count(subject),
            block,
            chosen_on=cut,
            state=state,
            length=int(protocol["length"]),
            repeat=repeat_of(state, protocol),
            dims=int(protocol["dims"]),
            mode=mode,
            draw=draw,
        )
        for block in cut
    ]
