"""The views: what a claim's test sees. A view names the shards it needs and turns them into arrays over heads.

A claim asks for a view by the name of a fixture (`census`, `depth`, …); `VIEWS` maps names to classes, by import path
so that planning imports no more than it must. A class has

    protocol_keys                          the keys of a claim's protocol that it, or a test that uses it, understands
    null_kinds                             where `nulls` is one of them: the kinds that it may name
    shards(subject, subjects, protocol)    what must be in the store
    __init__(subject, subjects, protocol, load)

Begin with `census`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
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
    "trajectory": "resolvent.evidence.views.trajectory:Trajectory",
    "score_trajectory": "resolvent.evidence.views.trajectory:ScoreTrajectory",
    "weight_trajectory": "resolvent.evidence.views.trajectory:WeightTrajectory",
    "concentration_trajectory": "resolvent.evidence.views.trajectory:ConcentrationTrajectory",
}


class View(Protocol):
    """The shape of a view class; those that take nulls have `null_kinds` too."""

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


def view_class(name: str, place: str) -> type[View]:
    """The class of a view at its import path. Raises ResolventError, naming view and path, where there is none."""
    module, colon, attribute = place.partition(":")
    if not (module and colon and attribute):
        raise ResolventError(f"view '{name}': found the path '{place}'; allowed: 'package.module:Class'")
    try:
        found: type[View] = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise ResolventError(f"view '{name}': {place} can't be imported: {type(error).__name__}: {error}") from error
    return found


def allowed_keys(views: Iterable[Any]) -> set[str]:
    """The protocol keys that a test which asks for these views may use."""
    return {key for view in views for key in view.protocol_keys}


def allowed_nulls(views: Iterable[Any]) -> set[str] | None:
    """The kinds of null that each of these views takes; None where none says so."""
    kinds = [set(view.null_kinds) for view in views if hasattr(view, "null_kinds")]
    return set.intersection(*kinds) if kinds else None


class TooFewTexts(ResolventError):
    """The corpus, or a shortened run, has too few texts for what a claim asks: its verdict is inestimable."""

    def __init__(self, found: int, asked: int, why: str) -> None:
        super().__init__(f"{found} texts, {asked} needed: {why}")
        self.found = found
        self.asked = asked
