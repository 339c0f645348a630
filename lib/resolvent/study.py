"""Where a study lies on disk. The only module that reads the environment for a path."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from resolvent.errors import ResolventError


@dataclass(frozen=True)
class Study:
    """The folders of one study.

    root      holds prereg/, claims/, conftest.py
    evidence  the store of computed shards (`--evidence-dir`, RESOLVENT_EVIDENCE, else root/.evidence)
    fetched   models and texts brought by `resolvent fetch` (RESOLVENT_FETCHED, else root/.fetched)
    """

    root: Path
    evidence: Path
    fetched: Path

    @property
    def prereg(self) -> Path:
        return self.root / "prereg"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def subjects_file(self) -> Path:
        return self.prereg / "subjects.yaml"

    @property
    def local_subjects_file(self) -> Path:
        return self.root / "subjects.local.yaml"


def open_study(root: Path, *, evidence: Path | None = None) -> Study:
    """The study at `root`. Raises ResolventError where there is no prereg/subjects.yaml."""
    root = root.resolve()
    if not (root / "prereg" / "subjects.yaml").is_file():
        raise ResolventError(f"{root}: no study here (prereg/subjects.yaml is missing)")
    chosen = evidence or _from_environment("RESOLVENT_EVIDENCE") or root / ".evidence"
    fetched = _from_environment("RESOLVENT_FETCHED") or root / ".fetched"
    return Study(root=root, evidence=chosen.resolve(), fetched=fetched.resolve())


def find_study(start: Path, *, evidence: Path | None = None) -> Study:
    """The study found by walking up from `start` to a folder with prereg/subjects.yaml."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "prereg" / "subjects.yaml").is_file():
            return open_study(folder, evidence=evidence)
    raise ResolventError(
        f"{start}: no study here or in any folder above (looked for prereg/subjects.yaml); use --study DIR"
    )


def _from_environment(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None
