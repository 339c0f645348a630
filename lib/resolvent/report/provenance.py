"""What a run's numbers came from: provenance.json."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from resolvent.errors import ResolventError
from resolvent.registry import Ledger

if TYPE_CHECKING:
    from resolvent.evidence.engine import Engine
    from resolvent.models.subjects import StudySubjects, Subject
    from resolvent.study import Study

_PACKAGES = (
    "resolvent",
    "numpy",
    "scipy",
    "numba",
    "torch",
    "transformers",
    "tokenizers",
    "gguf",
    "safetensors",
    "pyarrow",
    "statsmodels",
    "scikit-learn",
    "msgspec",
    "pytest",
    "pytest-xdist",
)


def provenance(
    study: Study,
    subjects: StudySubjects,
    *,
    chosen: Iterable[Subject],
    ledger: Ledger,
    engine: Engine,
    evidence: Iterable[str],
    began: datetime.datetime,
    seconds: float,
    durations: Mapping[str, float],
) -> dict[str, Any]:
    """JSON-able facts of a run.

    evidence   keys that its verdicts rest on: split by whether this run computed them
    seconds    wall time; `durations` by node id
    """
    chosen = list(chosen)
    corpora = {subject.corpus for subject in chosen}
    computed, cached = _evidence(engine, evidence)
    return {
        "began": began.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "run": engine.run_id,
        "code": _commit(study),
        "ledger_head": ledger.head,
        "ledger_anchor": "unanchored",
        "seed": subjects.seed,
        "subjects": {
            subject.name: {"entry": _plain(subject.entry), "identity": _identity(subject), "note": subject.note}
            for subject in chosen
        },
        "texts": {name: _plain(subjects.texts[name].entry) for name in sorted(corpora)},
        "packages": _versions(),
        "python": sys.version.split()[0],
        "host": {"platform": platform.platform(), "machine": platform.machine(), "cpus": os.cpu_count()},
        "device": engine.device,
        "threads": _threads(),
        "evidence": {"folder": str(study.evidence), "computed": computed, "cached": cached},
        "durations": {name: round(value, 4) for name, value in sorted(durations.items())},
    }


def _identity(subject: Subject) -> Any:
    """Plain; for a local model that can't be read the reason, in words."""
    try:
        return _plain(subject.identity())
    except ResolventError as error:
        return str(error)


def _commit(study: Study) -> dict[str, Any]:
    """Commit and whether the tree differed from it; None where there is no git, or no repository."""
    commit = _git(study, "rev-parse", "HEAD")
    status = _git(study, "status", "--porcelain", "--untracked-files=normal")
    return {"commit": commit, "dirty": None if commit is None or status is None else bool(status)}


def _git(study: Study, *arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", "-C", str(study.root), *arguments], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def _threads() -> dict[str, Any]:
    """The pools of a shard: one thread each; and what the libraries would use without that."""
    import numpy as np  # noqa: F401 - threadpoolctl sees loaded libraries only
    from threadpoolctl import threadpool_info

    return {"per_shard": 1, "threadpool_info": threadpool_info()}


def _evidence(engine: Engine, keys: Iterable[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Key -> (id, seconds) of shards this run computed, in any of its processes; key -> id of those it found."""
    computed: dict[str, Any] = {}
    cached: dict[str, str] = {}
    for key in sorted(set(keys)):
        entry = engine.store.entry(key)
        if entry is not None and entry.run == engine.run_id:
            computed[key] = [entry.id, round(entry.seconds, 4)]
        else:
            cached[key] = entry.id if entry is not None else ""
    return computed, cached


def _plain(value: Any) -> Any:
    """Structs, dataclasses and paths as JSON-able values."""
    return msgspec.to_builtins(value, enc_hook=str)
