"""Our recorded verdicts: prereg/outcomes/<claim>.yaml, one entry a subject. These gate."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from resolvent.registry.canonical import canonical_json, sha256_text
from resolvent.registry.typed import typed
from resolvent.strict_yaml import read_yaml
from resolvent.study import Study


class Outcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recorded verdict.

    date     the day it was recorded
    metrics  the numbers of the run, by name (an interval as name, name.low, name.high)
    run      the name of the run's folder
    """

    verdict: Literal["supported", "refuted", "undecided", "inestimable"]
    date: datetime.date
    metrics: dict[str, float]
    run: str

    def sha256(self, claim: str, subject: str) -> str:
        """The hash that the ledger keeps of it."""
        return sha256_text(canonical_json({"claim": claim, "subject": subject, **msgspec.structs.asdict(self)}))


def outcomes_file(study: Study, claim: str) -> Path:
    """Where the current outcomes of a claim stand."""
    return study.prereg / "outcomes" / f"{claim}.yaml"


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """The outcomes of one file by subject; empty where there is no file. Raises YamlError and SchemaError."""
    if not path.exists():
        return {}
    return typed(read_yaml(path) or {}, dict[str, Outcome], file=str(path))


def outcomes_text(outcomes: Mapping[str, Outcome]) -> str:
    """The file of these outcomes, subjects and metrics in alphabetical order; numbers read back to the bit."""
    plain: dict[str, Any] = {}
    for subject in sorted(outcomes):
        outcome = outcomes[subject]
        plain[subject] = {
            "verdict": outcome.verdict,
            "date": outcome.date,
            "run": outcome.run,
            "metrics": dict(sorted(outcome.metrics.items())),
        }
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)


def recorded(study: Study) -> dict[tuple[str, str], Outcome]:
    """The current outcomes of the study by (claim, subject); those of superseded claims are in `amendments`."""
    found: dict[tuple[str, str], Outcome] = {}
    for path in sorted((study.prereg / "outcomes").glob("*.yaml")):
        for subject, outcome in read_outcomes(path).items():
            found[path.stem, subject] = outcome
    return found
