"""The views: what a claim's test sees. A view names the shards it needs and turns them into arrays over heads.

A claim asks for a view by the name of a fixture (`census`, `depth`, …); `VIEWS` maps names to classes, by import path
so that planning imports no more than it must. A class has

    protocol_keys                          the keys of a claim's protocol that it, or a test that uses it, understands
    shards(subject, subjects, protocol)    what must be in the store
    __init__(subject, subjects, protocol, load)

Begin with `census`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from resolvent.errors import ResolventError

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject

VIEWS: dict[str, str] = {
    "census": "resolvent.evidence.views.census:Census",
    "modes": "resolvent.evidence.views.transients:Modes",
    "residuals": "resolvent.evidence.views.transients:Residuals",
    "mask": "resolvent.evidence.views.mask:Mask",
    "chain": "resolvent.evidence.views.chain:Chain",
    "depth": "resolvent.evidence.views.depth:Depth",
    "depth_by_state": "resolvent.evidence.views.depth:DepthByState",
    "engagement": "resolvent.evidence.views.engagement:Engagement",
    "contest": "resolvent.evidence.views.contest:Contest",
    "ablation": "resolvent.evidence.views.ablation:Ablation",
    "residual_stream": "resolvent.evidence.views.residual_stream:ResidualStream",
    "clamping": "resolvent.evidence.views.clamping:Clamping",
    "bos_mlp": "resolvent.evidence.views.bos_mlp:BosMlp",
}


class View(Protocol):
    """The shape of a view class."""

    protocol_keys: ClassVar[frozenset[str]]

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]: ...

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None: ...


class TooFewTexts(ResolventError):
    """The corpus, or a shortened run, has too few texts for what a claim asks: its verdict is inestimable."""

    def __init__(self, found: int, asked: int, why: str) -> None:
        super().__init__(f"{found} texts, {asked} needed: {why}")
        self.found = found
        self.asked = asked
