"""From the evidence store to the data of a figure, under the protocol of a claim."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.errors import ResolventError
from resolvent.report.figures.attention import AttentionData
from resolvent.report.figures.bos_mass_law import BosMassLawData
from resolvent.report.figures.contest import QUANTITIES, PredictionsData
from resolvent.report.figures.depth import DepthData
from resolvent.report.figures.identities import IdentitiesData
from resolvent.report.figures.portrait import PortraitData, grid
from resolvent.report.figures.signed_census import SignedCensusData
from resolvent.report.figures.state_change import StateChangeData
from resolvent.report.figures.trajectories import TrajectoriesData
from resolvent.report.figures.transient import TransientData

if TYPE_CHECKING:
    from resolvent.evidence.views.census import Census, StateCensus
    from resolvent.models.subjects import Subject
    from resolvent.report.stored_evidence import StoredEvidence

POWERS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
"""The k of a transient curve: two an octave."""

ENDS_AS_SINK = 0.5
"""BOS mass at the last checkpoint from which a trajectory counts a head as a sink (the class of the papers)."""

SHOWN_REPEATS = 2
"""Repeats of the folds whose mean predictions a picture shows; all of them would cost a report seconds a claim."""

LEVEL = 0.05
"""Level of the signed classes where a claim's protocol names no test."""


@dataclass(frozen=True)
class Head:
    """Layer and head, from 0; written `4.11`."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.layer}.{self.head}"

    @classmethod
    def parse(cls, text: str, subject: Subject) -> Head:
        """The head that `4.11` names. Raises ResolventError for another form, or a head that the subject lacks."""
        layer, _, head = text.partition(".")
        if not (layer.isdecimal() and head.isdecimal()):
            raise ResolventError(f"--head {text}: allowed: LAYER.HEAD, as 4.11")
        found = cls(int(layer), int(head))
        if found.layer >= subject.layers or found.head >= subject.heads:
            raise ResolventError(
                f"--head {text}: {subject.name} has layers 0 to {subject.layers - 1} and heads 0 to {subject.heads - 1}"
            )
        return found


def signed_census_data(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], *, null: str
) -> SignedCensusData:
    """Classes as the claims make them, with the law's prediction against the same nulls."""
    protocol = {**protocol, "test": protocol.get("test", {"level": LEVEL})}
    census: Census = evidence.view("census", subject, protocol)
    signed = census.signed(null)
    return SignedCensusData(
        layers=int(subject.layers),
        excess=census.excess(null),
        suppressed=signed.suppressed,
        amplified=signed.amplified,
        previous_token=census.median("previous_token_mass"),
        bos_mass=census.median("bos_mass"),
        law_excess=_law_excess(census, null, int(protocol["length"])),
        null=null,
    )


def bos_mass_law_data(evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any]) -> BosMassLawData:
    """Medians over texts."""
    census: Census = evidence.view("census", subject, protocol)
    return BosMassLawData(
        bos_mass=census.median("bos_mass"),
        kreiss=census.median("kreiss"),
        error=census.law_error,
        length=int(protocol["length"]),
    )


def depth_data(evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any]) -> DepthData:
    """The products of a claim of the corpus, or of several states."""
    if not isinstance(protocol["text"], str):
        by_state = evidence.view("depth_by_state", subject, protocol)
        first, *others = protocol["text"]
        real = by_state[first]
        gaps = {state: by_state[state].gap for state in others}
        return DepthData(real.log10_deviation, real.log10_eigenvalue, real.log10_norm, other_gap=gaps)
    depth = evidence.view("depth", subject, protocol)
    nulls = protocol.get("nulls", {})
    return DepthData(
        deviation=depth.real.log10_deviation,
        eigenvalue=depth.real.log10_eigenvalue,
        norm=depth.real.log10_norm,
        rollout_deviation=depth.rollout.log10_deviation,
        null_deviation={kind: depth.null_deviation(kind) for kind in nulls},
        null_gap={kind: depth.null_gap(kind) for kind in nulls},
        baseline_gap=depth.baseline_gap if "baseline" in protocol else None,
    )


def state_change_data(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], *, null: str, since: str, to: str
) -> StateChangeData:
    """The change between two states of the protocol; the class is its first: induction or duplicate-token heads."""
    engagement = evidence.view("engagement", subject, protocol)
    length = int(protocol["length"])
    name = "duplicate_token" if "duplicate_token" in protocol["classes"] else "induction"
    law = {state: _law_excess(engagement[state], null, length) for state in (since, to)}
    return StateChangeData(
        before=engagement[since].median("kreiss"),
        after=engagement[to].median("kreiss"),
        states=(since, to),
        change=engagement.excess_change(null, to=to, since=since),
        law_change=law[to] - law[since],
        score=getattr(engagement, f"{name}_score"),
        in_class=engagement.in_class(name),
        score_name=name.replace("_", "-"),
        null=null,
    )


def mask_identities_data(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], tolerance: Mapping[str, float]
) -> IdentitiesData:
    """Errors of the mask's identities; tolerance by metric, as the claim's criteria have them."""
    mask = evidence.view("mask", subject, protocol)
    errors = {
        "saturation_error": mask.saturation_error[~mask.absorbing],
        "power_identity_error": mask.power_identity_error,
    }
    names = {"saturation_error": "|K(A) − √n|", "power_identity_error": "|A^k − P − A_dev^k|"}
    return IdentitiesData(
        errors={names[key]: values for key, values in errors.items()},
        tolerance={names[key]: tolerance[key] for key in errors},
    )


def chain_identities_data(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], tolerance: Mapping[str, float]
) -> IdentitiesData:
    """Violations of the killed chain's bounds, as distances beyond the bound (0 where it holds)."""
    chain = evidence.view("chain", subject, protocol)
    errors = {
        "survival_bracket_violation": np.maximum(chain.bracket_violation, 0),
        "off_axis_excess": np.maximum(chain.off_axis_excess[np.isfinite(chain.off_axis_excess)], 0),
    }
    names = {
        "survival_bracket_violation": "Beyond the survival bracket",
        "off_axis_excess": "Off the real axis above it",
    }
    return IdentitiesData(
        errors={names[key]: values for key, values in errors.items()},
        tolerance={names[key]: tolerance[key] for key in errors},
    )


def trajectories_data(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any]
) -> tuple[TrajectoriesData, ...]:
    """Over training: the excess over the protocol's first null, where it has one; and log2 K_dev beside the law's.

    Lines are medians over heads, bands the quartiles of all heads. Raises ResolventError for a subject without series.
    """
    if subject.series is None:
        raise ResolventError(f"{subject.name}: no series of checkpoints, so there is no trajectory")
    trajectory = evidence.view("trajectory", subject, protocol)
    tokens = np.array(trajectory.steps, dtype=np.float64) * subject.series.tokens_per_step
    found = []
    for null in list(protocol.get("nulls", {}))[:1]:
        excess = trajectory.excess(null)
        classes = {"heads that end as sinks": trajectory.median("bos_mass")[-1] >= ENDS_AS_SINK}
        if "previous_token" in protocol.get("classes", {}):
            classes["previous-token heads"] = trajectory.previous_token_heads
        lines = {name: np.median(excess[:, heads], axis=1) for name, heads in classes.items() if heads.any()}
        found.append(_over_training(tokens, excess, "median excess, bits", lines))
    law = {"BOS mass alone": np.median(trajectory.log2_law, axis=1)}
    found.append(_over_training(tokens, trajectory.log2_kreiss, "log₂ K_dev, bits", law))
    return tuple(found)


def _over_training(
    tokens: np.ndarray, values: np.ndarray, quantity: str, further: Mapping[str, np.ndarray]
) -> TrajectoriesData:
    """Values (checkpoints, heads) as the median of all heads with its quartiles, and further lines."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=1)
    return TrajectoriesData(tokens, {"all heads": middle, **further}, quantity, bands={"all heads": (low, high)})


def telling_heads(evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any]) -> dict[Head, str]:
    """Heads worth a curve -> what sets each apart, by medians over texts: the extremes of transient and BOS mass."""
    census: Census = evidence.view("census", subject, protocol)
    mass, top = census.median("bos_mass"), census.median("transient")
    picks = {
        "largest transient": int(np.argmax(top)),
        "most previous-token mass": int(np.argmax(census.median("previous_token_mass"))),
        "median transient": int(np.argsort(top)[len(top) // 2]),
        "most BOS mass": int(np.argmax(mass)),
    }
    found: dict[Head, str] = {}
    for words, index in picks.items():
        found.setdefault(Head(index // int(subject.heads), index % int(subject.heads)), words)
    return found


def transient_data(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], heads: Mapping[Head, str], *, text: int = 0
) -> TransientData:
    """Curves on one text; `heads` maps each to what sets it apart."""
    from resolvent.operators import deviation_power_norms

    maps, _ = text_maps(evidence, subject, protocol, list(heads), text=text)
    return TransientData(
        powers=np.array(POWERS),
        log10_norm=np.asarray(deviation_power_norms(maps, POWERS)),
        labels=tuple(f"{head}, {words}" if words else str(head) for head, words in heads.items()),
        length=maps.shape[-1],
    )


def portrait_data(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], head: Head, *, text: int = 0
) -> PortraitData:
    """The portrait of one head on one text."""
    from resolvent.operators import deflate, kreiss_constant, pseudospectrum

    maps, text_id = text_maps(evidence, subject, protocol, [head], text=text)
    deviation = deflate(maps[0])
    x, y = grid()
    upper = np.log10(np.maximum(pseudospectrum(deviation, x, y), 1e-300))
    kreiss = kreiss_constant(maps[0])
    return PortraitData(
        x=x,
        y=np.concatenate([-y[:0:-1], y]),
        log10_sigma=np.concatenate([upper[:0:-1], upper]),
        eigenvalues=np.diagonal(deviation).copy(),
        kreiss=float(kreiss.lower),
        at=float(kreiss.at),
        label=f"{subject.name} {head}, text {text_id}",
    )


def attention_data(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], heads: Sequence[Head], *, text: int = 0
) -> AttentionData:
    """The maps of chosen heads on one text."""
    maps, text_id = text_maps(evidence, subject, protocol, heads, text=text)
    return AttentionData(maps=maps, labels=tuple(map(str, heads)), text=f"text {text_id}")


def text_maps(
    evidence: StoredEvidence, subject: Subject, protocol: Mapping[str, Any], heads: Sequence[Head], *, text: int = 0
) -> tuple[np.ndarray, str]:
    """Captured attention (heads, n, n) of one text of the protocol's first state, n its length, and the text's id.

    Raises ResolventError where the corpus has no such text.
    """
    from resolvent.evidence.stages.capture import capture_shard
    from resolvent.evidence.stages.common import TEXTS_PER_BLOCK
    from resolvent.evidence.views.tables import repeat_of, states
    from resolvent.operators import check_causal_stochastic, unpack_lower

    state = states(protocol)[0]
    start = text - text % TEXTS_PER_BLOCK
    repeat = repeat_of(state, protocol)
    result = evidence.load(capture_shard(subject.name, state=state, captured=start, repeat=repeat))
    ids = json.loads(result.metadata["text_ids"])
    if text - start >= len(ids):
        raise ResolventError(f"{subject.name}: no text {text} of {state}; there are {start + len(ids)}")
    captured = int(result.metadata["length"])
    packed = np.stack([result.arrays["attention"][text - start, head.layer, head.head] for head in heads])
    maps = unpack_lower(packed, captured, length=int(protocol["length"]))

    def where(at: tuple[int, ...]) -> str:
        return f"{subject.name}, text {ids[text - start]}, head {heads[at[0]]}"

    return np.asarray(check_causal_stochastic(maps, where=where)), str(ids[text - start])


def _law_excess(census: StateCensus, null: str, length: int) -> np.ndarray:
    """The excess over a null, were K_dev the closed form at each matrix's BOS mass: median over texts, bits."""
    from resolvent.operators import kreiss_from_bos_mass

    law = np.log2(kreiss_from_bos_mass(census.real["bos_mass"], length))
    return np.asarray(np.median(law - np.log2(census.null(null, "kreiss")).mean(axis=0), axis=0))


def predictions_data(
    evidence: StoredEvidence, subject: Subject, claim: str, protocol: Mapping[str, Any], family: str
) -> PredictionsData:
    """Predictions of one family on unseen heads, under the claim's first folds. Raises EvidenceGone."""
    view = evidence.view("contest", subject, protocol)
    repeats = min(SHOWN_REPEATS, view.rule.repeats)
    result = view.result(claim, rule=replace(view.rule, repeats=repeats, draws=1, preprocessing=("standardised",)))
    return PredictionsData(
        target=result.target,
        prediction=result.settings["head", "standardised"].families[family].prediction,
        family=family,
        quantity=QUANTITIES[view.rule.target],
        repeats=repeats,
    )
