"""What the BOS-mass law alone says of a subject, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.errors import ResolventError
from resolvent.report.stored_evidence import StoredEvidence

if TYPE_CHECKING:
    from resolvent.models.subjects import Subject

CLOSE_BITS = 0.25
"""A head counts as predicted where the law is within this many bits of its K_dev (prereg/bos_mass_law.yaml)."""


def law_numbers(
    evidence: StoredEvidence, subject: Subject, protocols: Iterable[Mapping[str, Any]]
) -> dict[str, float] | None:
    """Medians over heads (over texts first) of K_dev, measured and by the closed form at the BOS mass of each head.

    protocols  of the claims shown: the longest and largest corpus battery among them is taken that the store has
    Returns predicted_kreiss, measured_kreiss, within_quarter_bit (fraction of heads), texts and length; None where the
    store has no such battery.
    """
    sizes = {
        (int(protocol["length"]), int(protocol["texts"]))
        for protocol in protocols
        if "corpus" in _states(protocol) and "length" in protocol and "texts" in protocol
    }
    for length, texts in sorted(sizes, reverse=True):
        try:
            census = evidence.view("census", subject, {"text": "corpus", "length": length, "texts": texts})
        except ResolventError:
            continue
        return _numbers(census.real["kreiss"], census.real["bos_mass"], length)
    return None


def _numbers(kreiss: np.ndarray, bos_mass: np.ndarray, length: int) -> dict[str, float]:
    from resolvent.operators import kreiss_from_bos_mass

    law = kreiss_from_bos_mass(bos_mass, length)
    error = np.median(np.abs(np.log2(kreiss) - np.log2(law)), axis=0)
    return {
        "predicted_kreiss": float(np.median(np.median(law, axis=0))),
        "measured_kreiss": float(np.median(np.median(kreiss, axis=0))),
        "within_quarter_bit": float((error <= CLOSE_BITS).mean()),
        "texts": len(kreiss),
        "length": length,
    }


def _states(protocol: Mapping[str, Any]) -> tuple[str, ...]:
    text = protocol.get("text", ())
    return (text,) if isinstance(text, str) else tuple(text)
