"""Builders with sane defaults: a claim, a run folder, an edit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolvent.registry import Claim
from resolvent.registry.typed import typed
from resolvent.study import Study

SUBJECT = "smollm2-135m"
ATTRIBUTES = {"trained": True, "norm": "rmsnorm", "positions": "rope", "layers": 30, "heads": 9, "checkpoints": 0}
BOOTSTRAP = {"method": "bootstrap", "over": ["heads", "layers"], "level": 0.95, "draws": 2000}


@dataclass(frozen=True)
class Interval:
    """Stands in for the bootstrap's interval: the judge asks for these three attributes."""

    value: float
    low: float
    high: float


def criterion(**changes: Any) -> dict[str, Any]:
    return {
        "says": "a metric",
        "metric": "size",
        "support": {"at_least": 1.0},
        "refute": {"below": 0.5},
        **changes,
    }


def claim(criteria: Mapping[str, Any] | None = None, **changes: Any) -> Claim:
    content = {
        "claim": "example",
        "title": "An example",
        "source": {"paper": "ours"},
        "registered": "2026-12-01",
        "kind": "confirmatory",
        "prior_knowledge": "None.",
        "hypothesis": "Something is large.",
        "protocol": {"text": "corpus"},
        "criteria": criteria or {"large": criterion()},
        "verdict": "all",
        **changes,
    }
    return typed(content, Claim, file="example.yaml")


def edit(path: Path, old: str, new: str) -> None:
    """Replaces the first `old`, which must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def run_folder(
    study: Study, verdicts: Mapping[str, str], name: str = "2026-12-01T10-00-00Z", **provenance: Any
) -> Path:
    """A finished run with these verdicts, by claim, on the embedded subject."""
    folder = study.runs / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {"claim": claim, "subject": SUBJECT, "verdict": verdict, "metrics": {"size": 0.1, "size.low": 1e-7}}
        for claim, verdict in verdicts.items()
    ]
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    facts = {"partial": False, "exploratory": False, "incomplete": [], **provenance}
    (folder / "provenance.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder
