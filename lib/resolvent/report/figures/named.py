"""The figures that `resolvent figure NAME` draws, by name."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError
from resolvent.report.figures.panel import Panel

if TYPE_CHECKING:
    from resolvent.evidence.shards import Shard
    from resolvent.models.subjects import StudySubjects, Subject
    from resolvent.report.figures.from_evidence import Head
    from resolvent.report.stored_evidence import StoredEvidence


@dataclass(frozen=True)
class Request:
    """What a figure of a subject is asked to show.

    texts, length, null   of the protocol
    heads                 chosen heads; empty: the figure chooses, where it can
    text                  index of the text for figures of single maps
    """

    texts: int = 32
    length: int = 128
    null: str = "row_permutation"
    draws: int = 4
    heads: tuple[Head, ...] = ()
    text: int = 0


@dataclass(frozen=True)
class SubjectFigure:
    """A figure drawn from a subject's evidence.

    title     above it
    protocol  the protocol whose evidence it shows
    views     names of the views that it reads
    maps      whether it reads captured attention too
    """

    title: str
    protocol: Callable[[Request], dict[str, Any]]
    views: tuple[str, ...]
    maps: bool
    draw: Callable[[StoredEvidence, Subject, Mapping[str, Any], Request], tuple[Panel, ...]]


def needed_shards(figure: SubjectFigure, subject: Subject, subjects: StudySubjects, request: Request) -> list[Shard]:
    """The evidence that a figure reads."""
    from resolvent.evidence.stages.capture import capture_shard
    from resolvent.evidence.stages.common import TEXTS_PER_BLOCK
    from resolvent.evidence.views import VIEWS

    protocol = figure.protocol(request)
    found: list[Shard] = []
    for name in figure.views:
        module, _, attribute = VIEWS[name].partition(":")
        found += getattr(importlib.import_module(module), attribute).shards(subject, subjects, protocol)
    if figure.maps:
        start = request.text - request.text % TEXTS_PER_BLOCK
        found.append(capture_shard(subject.name, state="corpus", captured=start, repeat=None))
    return found


def _corpus(request: Request) -> dict[str, Any]:
    return {"text": "corpus", "length": request.length, "texts": request.texts}


def _with_nulls(request: Request) -> dict[str, Any]:
    return {**_corpus(request), "nulls": {request.null: request.draws}}


def _stacks(request: Request) -> dict[str, Any]:
    nulls = {"layer_permutation": request.draws, "head_permutation": request.draws}
    return {**_corpus(request), "nulls": nulls, "baseline": "uniform_attention"}


def _states(request: Request) -> dict[str, Any]:
    return {
        "text": ["corpus", "repeat_probe"],
        "repeat": 60,
        "length": min(request.length, 121),
        "texts": request.texts,
        "score_texts": 8,
        "nulls": {request.null: request.draws},
        "classes": {"induction": 0.4},
    }


def _signed_census(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], request: Request
) -> tuple[Panel, ...]:
    from resolvent.report.figures.from_evidence import signed_census_data
    from resolvent.report.figures.signed_census import signed_census

    return signed_census(signed_census_data(evidence, subject, protocol, null=request.null))


def _bos_mass_law(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], request: Request
) -> tuple[Panel, ...]:
    from resolvent.report.figures.bos_mass_law import bos_mass_law
    from resolvent.report.figures.from_evidence import bos_mass_law_data

    return bos_mass_law(bos_mass_law_data(evidence, subject, protocol))


def _transient(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], request: Request
) -> tuple[Panel, ...]:
    from resolvent.report.figures.from_evidence import telling_heads, transient_data
    from resolvent.report.figures.transient import transient

    heads = dict.fromkeys(request.heads, "") or telling_heads(evidence, subject, protocol)
    return transient(transient_data(evidence, subject, protocol, heads, text=request.text))


def _portrait(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], request: Request
) -> tuple[Panel, ...]:
    from resolvent.report.figures.from_evidence import portrait_data
    from resolvent.report.figures.portrait import portrait

    return tuple(
        panel
        for head in _chosen(request)
        for panel in portrait(portrait_data(evidence, subject, protocol, head, text=request.text))
    )


def _attention(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], request: Request
) -> tuple[Panel, ...]:
    from resolvent.report.figures.attention import attention
    from resolvent.report.figures.from_evidence import attention_data

    return attention(attention_data(evidence, subject, protocol, _chosen(request), text=request.text))


def _depth(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], request: Request
) -> tuple[Panel, ...]:
    from resolvent.report.figures.depth import depth
    from resolvent.report.figures.from_evidence import depth_data

    return depth(depth_data(evidence, subject, protocol))


def _state_change(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], request: Request
) -> tuple[Panel, ...]:
    from resolvent.report.figures.from_evidence import state_change_data
    from resolvent.report.figures.state_change import state_change

    data = state_change_data(evidence, subject, protocol, null=request.null, since="corpus", to="repeat_probe")
    return state_change(data)


def _chosen(request: Request) -> tuple[Head, ...]:
    if not request.heads:
        raise ResolventError("this figure is of single heads: name them with --head LAYER.HEAD (repeatable)")
    return request.heads


SUBJECT_FIGURES: dict[str, SubjectFigure] = {
    "signed-census": SubjectFigure("Signed census", _with_nulls, ("census",), False, _signed_census),
    "bos-mass-law": SubjectFigure("The BOS-mass law", _corpus, ("census",), False, _bos_mass_law),
    "transient": SubjectFigure("Transients", _corpus, ("census",), True, _transient),
    "portrait": SubjectFigure("Pseudospectrum portrait", _corpus, (), True, _portrait),
    "depth": SubjectFigure("Depth products", _stacks, ("depth",), False, _depth),
    "state-change": SubjectFigure("State change", _states, ("engagement",), False, _state_change),
    "attention": SubjectFigure("Attention maps", _corpus, (), True, _attention),
}


def _trajectories(given: Any) -> tuple[Panel, ...]:
    import numpy as np

    from resolvent.report.figures.trajectories import TrajectoriesData, trajectories

    return trajectories(
        TrajectoriesData(
            tokens=np.array(given["tokens"], dtype=float),
            lines={name: np.array(values, dtype=float) for name, values in given["lines"].items()},
            quantity=str(given["quantity"]),
            bands={name: (np.array(low), np.array(high)) for name, (low, high) in given.get("bands", {}).items()},
            crossings=given.get("crossings", {}),
        )
    )


def _clamping(given: Any) -> tuple[Panel, ...]:
    import numpy as np

    from resolvent.report.figures.clamping import ClampingData, clamping

    return clamping(
        [
            ClampingData(
                quantity=str(one["quantity"]),
                base=float(one["base"]),
                treated=float(one["treated"]),
                controls=np.array(one.get("controls", []), dtype=float),
                treatment=str(one.get("treatment", "clamped")),
            )
            for one in given
        ]
    )


def _contest(given: Any) -> tuple[Panel, ...]:
    from resolvent.report.figures.contest import contest, contest_data

    return contest(contest_data(given))


DATA_FIGURES: dict[str, Callable[[Any], tuple[Panel, ...]]] = {
    "trajectories": _trajectories,
    "clamping": _clamping,
    "contest": _contest,
}
"""Drawn from a JSON file: the fields of the figure's data class, a list of them for bars, metrics for the contest."""


def data_panels(name: str, path: Path) -> tuple[Panel, ...]:
    """The panels of a figure that is drawn from a JSON file.

    Raises ResolventError for a file that can't be read or lacks a field, or from which there is nothing to draw.
    """
    try:
        panels = DATA_FIGURES[name](json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ResolventError(f"{path}: cannot be read: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ResolventError(f"{path}: is no data of the figure '{name}': {error!r}") from None
    if not panels:
        raise ResolventError(f"{path}: nothing to draw for the figure '{name}'")
    return panels
