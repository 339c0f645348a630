"""Which figure is a claim's own, drawn from the evidence of its own protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from resolvent.report.figures.panel import Panel

if TYPE_CHECKING:
    from resolvent.models.subjects import Subject
    from resolvent.registry import Claim
    from resolvent.report.stored_evidence import StoredEvidence
    from resolvent.report.verdict_line import VerdictLine

Draw = Callable[["StoredEvidence", "Subject", "Claim"], tuple[Panel, ...]]


def claim_panels(evidence: StoredEvidence, subject: Subject, claim: Claim, line: VerdictLine) -> tuple[Panel, ...]:
    """The panels of a claim on a subject; empty for a claim without a figure of its own.

    Raises ResolventError where the evidence is gone.
    """
    if claim.name.startswith("contest_"):
        return _contest(evidence, subject, claim, line.judgement.metrics)
    if claim.name in _INTERVENTIONS:
        return _bars(line.judgement.metrics, _INTERVENTIONS[claim.name])
    draw = _OWN.get(claim.name)
    return () if draw is None else draw(evidence, subject, claim)


def _census(null: str) -> Draw:
    def draw(evidence: StoredEvidence, subject: Subject, claim: Claim) -> tuple[Panel, ...]:
        from resolvent.report.figures.from_evidence import signed_census_data
        from resolvent.report.figures.signed_census import signed_census

        return signed_census(signed_census_data(evidence, subject, claim.protocol, null=null))

    return draw


def _law(evidence: StoredEvidence, subject: Subject, claim: Claim) -> tuple[Panel, ...]:
    from resolvent.report.figures.bos_mass_law import bos_mass_law
    from resolvent.report.figures.from_evidence import bos_mass_law_data

    return bos_mass_law(bos_mass_law_data(evidence, subject, claim.protocol))


def _transient(evidence: StoredEvidence, subject: Subject, claim: Claim) -> tuple[Panel, ...]:
    from resolvent.report.figures.from_evidence import telling_heads, transient_data
    from resolvent.report.figures.transient import transient

    heads = telling_heads(evidence, subject, claim.protocol)
    return transient(transient_data(evidence, subject, claim.protocol, heads))


def _depth(evidence: StoredEvidence, subject: Subject, claim: Claim) -> tuple[Panel, ...]:
    from resolvent.report.figures.depth import depth
    from resolvent.report.figures.from_evidence import depth_data

    return depth(depth_data(evidence, subject, claim.protocol))


def _state_change(null: str, *, since: str = "corpus", to: str = "repeat_probe") -> Draw:
    def draw(evidence: StoredEvidence, subject: Subject, claim: Claim) -> tuple[Panel, ...]:
        from resolvent.report.figures.from_evidence import state_change_data
        from resolvent.report.figures.state_change import state_change

        return state_change(state_change_data(evidence, subject, claim.protocol, null=null, since=since, to=to))

    return draw


def _mask(evidence: StoredEvidence, subject: Subject, claim: Claim) -> tuple[Panel, ...]:
    from resolvent.report.figures.from_evidence import mask_identities_data
    from resolvent.report.figures.identities import identities

    return identities(mask_identities_data(evidence, subject, claim.protocol, _tolerances(claim)))


def _chain(evidence: StoredEvidence, subject: Subject, claim: Claim) -> tuple[Panel, ...]:
    from resolvent.report.figures.from_evidence import chain_identities_data
    from resolvent.report.figures.identities import identities

    return identities(chain_identities_data(evidence, subject, claim.protocol, _tolerances(claim)))


def _contest(
    evidence: StoredEvidence, subject: Subject, claim: Claim, metrics: Mapping[str, float]
) -> tuple[Panel, ...]:
    from resolvent.report.figures.contest import contest, contest_data, predictions
    from resolvent.report.figures.from_evidence import predictions_data
    from resolvent.statistics.contest import winner

    family = winner(metrics)
    if family is None:
        return ()
    predicted = predictions(predictions_data(evidence, subject, claim.name, claim.protocol, family))
    relevance = claim.criteria.get("relevance")
    relevant = None if relevance is None else relevance.support.at_least
    return (*contest(contest_data(metrics), relevant=relevant), predicted)


def _bars(metrics: Mapping[str, float], treatment: str) -> tuple[Panel, ...]:
    from resolvent.report.figures.clamping import bars_of_metrics, clamping

    return clamping(bars_of_metrics(metrics, treatment))


def _trajectories(evidence: StoredEvidence, subject: Subject, claim: Claim) -> tuple[Panel, ...]:
    from resolvent.report.figures.from_evidence import trajectories_data
    from resolvent.report.figures.trajectories import trajectories

    return tuple(panel for data in trajectories_data(evidence, subject, claim.protocol) for panel in trajectories(data))


def has_figure(claim: str) -> bool:
    """Whether a claim of that name has a figure of its own."""
    return claim.startswith("contest_") or claim in _INTERVENTIONS or claim in _OWN


def _tolerances(claim: Claim) -> dict[str, float]:
    """Metric -> the largest value that supports it."""
    return {
        criterion.metric: criterion.support.at_most
        for criterion in claim.criteria.values()
        if criterion.support.at_most is not None
    }


_OWN: dict[str, Draw] = {
    "mask_saturation": _mask,
    "killed_chain": _chain,
    "bos_mass_law": _law,
    "sink_floor": _law,
    "signed_census": _census("row_permutation"),
    "reserve_is_early": _census("row_permutation"),
    "routing_matched_by_null": _census("row_permutation"),
    "damping_beyond_bos_mass": _census("bos_preserving"),
    "reserve_beyond_bos_mass": _census("bos_preserving"),
    "consolidation": _trajectories,
    "consolidation_timing": _trajectories,
    "pattern_precedes_function": _trajectories,
    "pattern_leads_function": _trajectories,
    "no_damping_without_concentration": _trajectories,
    "interior_growth": _transient,
    "dominant_mode": _transient,
    "mixing_bound_vacuous": _transient,
    "depth_failure": _depth,
    "depth_failure_head_null": _depth,
    "depth_failure_on_probe": _depth,
    "perron_absorption": _depth,
    "rollout_survival": _depth,
    "state_conditionality": _state_change("row_permutation"),
    "duplicate_token_engagement": _state_change("row_permutation"),
    "engagement_beyond_bos_mass": _state_change("bos_preserving"),
    "engagement_needs_repeat": _state_change("row_permutation", since="random_probe"),
}

_INTERVENTIONS = {
    "clamping_rmsnorm": "clamped",
    "clamping_layernorm": "clamped",
    "bos_mlp_ablation": "ablated",
    "bos_mlp_releases_damper": "ablated",
}
"""Drawn from the claim's own metrics -> what the intervention is called."""
