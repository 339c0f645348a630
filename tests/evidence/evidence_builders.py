"""A study with a toy subject, and shards of the counting stages, with defaults for all that a test doesn't name."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counting_stages import NUMBERS, TOTAL

from resolvent.evidence.engine import Engine
from resolvent.evidence.shards import Shard, Stage
from resolvent.models.subjects import StudySubjects, Subject
from resolvent.study import Study
from resolvent.texts.corpora import parse_corpus

HERE = Path(__file__).parent
HANSARD = {
    "wheel": {"name": "w", "version": "1", "sha256": "0" * 64, "member": "m", "member_sha256": "0" * 64},
    "format": {"lines": "utf-8"},
    "order": "hash",
}


def build_study(root: Path) -> Study:
    root.mkdir(exist_ok=True)
    return Study(root=root, evidence=root / ".evidence", fetched=root / ".fetched")


def build_subjects(
    *,
    seed: int = 7,
    entry: dict[str, Any] | None = None,
    corpus_entry: dict[str, Any] | None = None,
    repeat_entry: dict[str, Any] | None = None,
    name: str = "toy",
) -> StudySubjects:
    subject = Subject(
        name=name,
        entry=entry or {"hub": {"model": "toy", "revision": "0" * 40}, "corpus": "hansard"},
        source="hub",
        bos=0,
        corpus="hansard",
        trained=True,
        norm="rmsnorm",
        positions="rope",
        layers=2,
        heads=2,
    )
    texts = {"hansard": corpus_entry or HANSARD, "repeat_probe": repeat_entry or {"generated": "repeat"}}
    corpora = {key: parse_corpus(key, value, source=Path("subjects.yaml")) for key, value in texts.items()}
    return StudySubjects(seed=seed, texts=corpora, cohorts={}, subjects={name: subject})


def build_engine(root: Path, *, run_id: str = "run", **subjects: Any) -> Engine:
    return Engine(build_study(root), build_subjects(**subjects), run_id=run_id)


def numbers(name: str = "a", *, stage: Stage = NUMBERS, matrices: int = 10, **params: Any) -> Shard:
    return Shard(stage, "toy", name, {"name": name, **params}, matrices=matrices)


def total(*inputs: Shard, name: str = "sum") -> Shard:
    return Shard(TOTAL, "toy", name, {"name": name}, inputs=inputs)


def chained(count: int, *, seconds: float) -> list[Shard]:
    """Sums of neighbours among `count` draws: what the worker processes of these tests compute."""
    leaves = [numbers(f"leaf{i}", seconds=seconds) for i in range(count)]
    return [total(leaves[i], leaves[(i + 1) % count], name=f"sum{i}") for i in range(count)]


def start_worker(root: Path, *, count: int = 1, seconds: float = 0.0, run_id: str = "run") -> subprocess.Popen[str]:
    """A process that requires `chained(count)`, and prints what it used as JSON."""
    environment = {**os.environ, "PYTHONPATH": str(HERE), "TMPDIR": str(root)}
    command = [sys.executable, str(HERE / "evidence_worker.py"), str(root), run_id, str(count), str(seconds)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(holds: Callable[[], bool], *, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
