"""The study's command-line options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

DEFAULT_COHORT = "embedded"
MOST_TEXTS = 1024


@dataclass(frozen=True)
class RunOptions:
    """What the command line asks of a run.

    subjects  names or directories; empty: the cohort's
    cohort    the cohort of prereg/subjects.yaml against which completeness is judged
    texts     number of texts in place of the protocol's, or None
    evidence  folder of the store, or None for the study's own
    run_dir   folder of this run, or None for runs/<timestamp>
    plan_only print the plan and stop
    device    where models run: auto, cpu, cuda or cuda:N
    """

    subjects: tuple[str, ...]
    cohort: str
    texts: int | None
    evidence: Path | None
    run_dir: Path | None
    plan_only: bool
    device: str


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("resolvent", "the study")
    group.addoption(
        "--subject",
        action="append",
        default=[],
        metavar="NAME|DIR",
        help="model(s) to run on: names of subjects.yaml or subjects.local.yaml, or local directories; repeatable, "
        "or joined by commas. Write --subject=DIR with the equals sign, or pytest takes DIR for a test path",
    )
    group.addoption("--cohort", default=DEFAULT_COHORT, metavar="NAME", help="cohort to run on (default: %(default)s)")
    group.addoption(
        "--texts", type=int, default=None, metavar="N", help="use N texts whatever the protocol says: EXPLORATORY"
    )
    group.addoption(
        "--evidence-dir",
        default=None,
        metavar="DIR",
        help="folder of computed evidence (default: RESOLVENT_EVIDENCE, else .evidence); write --evidence-dir=DIR",
    )
    group.addoption(
        "--device", default="auto", metavar="NAME", help="where models run: auto, cpu, cuda, cuda:N (default: auto)"
    )
    group.addoption("--run-dir", default=None, metavar="DIR", help="folder of this run (default: runs/<timestamp>)")
    group.addoption(
        "--resolvent-plan", action="store_true", help="print which evidence the selected claims lack, and stop"
    )


def run_options(config: pytest.Config) -> RunOptions:
    """The options as given. Raises pytest.UsageError for a number of texts outside 1 to MOST_TEXTS."""
    option = config.option
    if option.texts is not None and not 1 <= option.texts <= MOST_TEXTS:
        raise pytest.UsageError(f"--texts={option.texts}; allowed: 1 to {MOST_TEXTS}")
    return RunOptions(
        subjects=_split(option.subject),
        cohort=option.cohort,
        texts=option.texts,
        evidence=Path(option.evidence_dir) if option.evidence_dir else None,
        run_dir=Path(option.run_dir) if option.run_dir else None,
        plan_only=option.resolvent_plan,
        device=option.device,
    )


def _split(values: Sequence[str]) -> tuple[str, ...]:
    parts = [part.strip() for value in values for part in value.split(",")]
    return tuple(dict.fromkeys(part for part in parts if part))
