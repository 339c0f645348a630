"""What a verdict leaves out: subjects, criteria and texts, each with the reason."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from resolvent.errors import ResolventError
from resolvent.registry import Claim
from resolvent.report.stored_evidence import StoredEvidence

if TYPE_CHECKING:
    from resolvent.models.subjects import Subject


def exclusions(claim: Claim, subject: Subject, evidence: StoredEvidence | None) -> list[str]:
    """Sentences, one an exclusion; says so where nothing was left out.

    evidence  None: texts that were passed over are not named
    """
    found = []
    if claim.applies_to:
        conditions = ", ".join(f"{name} {condition}" for name, condition in claim.applies_to.items())
        found.append(f"Only subjects with {conditions}.")
    applying = claim.criteria_for(subject.attributes())
    for name, criterion in claim.criteria.items():
        if name not in applying:
            conditions = ", ".join(f"{key} {condition}" for key, condition in criterion.when.items())
            found.append(f"The criterion {name} is for subjects with {conditions}.")
    for requirement in claim.requires:
        found.append(f"Judged only where {requirement.metric} {requirement.predicate}.")
    if evidence is not None and "corpus" in _states(claim):
        found += _passed_over(claim, subject, evidence)
    return found or ["Nothing."]


def _passed_over(claim: Claim, subject: Subject, evidence: StoredEvidence) -> list[str]:
    """Texts of the corpus that the subject's tokenizer could not fill to the captured length."""
    from resolvent.evidence.stages.capture import capture_shard
    from resolvent.evidence.stages.common import CAPTURED_LENGTH, blocks

    if "texts" not in claim.protocol:
        return []
    reasons: dict[str, str] = {}
    try:
        for block in blocks(0, int(claim.protocol["texts"])):
            shard = capture_shard(subject.name, state="corpus", captured=block.captured, repeat=None)
            reasons |= {str(text): str(reason) for text, reason in json.loads(evidence.metadata(shard)["passed_over"])}
    except ResolventError:
        return []
    if not reasons:
        return [f"No text of {subject.corpus} was passed over: the first {claim.protocol['texts']} in order are used."]
    counts = Counter(reasons.values())
    words = "; ".join(f"{count} {reason}" for reason, count in counts.most_common())
    return [f"{len(reasons)} texts of {subject.corpus} (positions {CAPTURED_LENGTH}) were passed over: {words}."]


def _states(claim: Claim) -> tuple[str, ...]:
    text = claim.protocol.get("text", ())
    return (text,) if isinstance(text, str) else tuple(text)
