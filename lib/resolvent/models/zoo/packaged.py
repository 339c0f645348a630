"""Where the weights that come with the package lie, and whether they are the registered ones. Light.

weights/<family>/
    card.json       how they were trained (`card`)
    manifest.json   size and SHA-256 of every file below
    step<N>/        a checkpoint in Hugging Face format, float16, with config and tokenizer
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from resolvent.errors import ResolventError

MANIFEST, CARD = "manifest.json", "card.json"

WEIGHTS = Path(__file__).parent / "weights"


class PackagedWeightsError(ResolventError):
    """Weights of a family that are not there, or not as their manifest says."""


def family_folder(family: str) -> Path:
    """The folder of a family's weights in this package."""
    return WEIGHTS / family


def step_folder(family: str, step: int) -> Path:
    """The folder of one checkpoint, in Hugging Face format."""
    return family_folder(family) / f"step{step}"


def write_manifest(folder: Path) -> str:
    """Write the manifest of a family's folder and return its SHA-256: what a subject's entry pins."""
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": _sha256(path)}
        for path in sorted(folder.glob("step*/*"))
    }
    (folder / MANIFEST).write_text(json.dumps({"files": files}, indent=1) + "\n", encoding="utf-8", newline="\n")
    return _sha256(folder / MANIFEST)


def problem(family: str, sha256: str, *, step: int, folder: Path | None = None) -> str | None:
    """None where the packaged checkpoint is what an entry pins, else why not. Reads the manifest and sizes only."""
    folder = folder or family_folder(family)
    try:
        files = _manifest(folder)
        found = _sha256(folder / MANIFEST)
    except PackagedWeightsError as error:
        return str(error)
    if found != sha256:
        return f"{folder}: its manifest has SHA-256 {found}, the entry pins {sha256}: not the registered weights"
    below = f"step{step}/"
    if not any(name.startswith(below) for name in files):
        return f"{folder}: there is no checkpoint of step {step}"
    for name, facts in files.items():
        path = folder / name
        if name.startswith(below) and not (path.is_file() and path.stat().st_size == facts["bytes"]):
            return f"{path}: missing, or of another size than its manifest says"
    return None


def check_contents(folder: Path) -> None:
    """Compare a checkpoint's files with the manifest beside it.

    folder  of one step
    Raises PackagedWeightsError that names the file.
    """
    for name, facts in _manifest(folder.parent).items():
        if name.startswith(f"{folder.name}/"):
            path = folder.parent / name
            if not path.is_file() or _sha256(path) != facts["sha256"]:
                raise PackagedWeightsError(f"{path}: missing, or not what its manifest says")


def read_card(family: str, folder: Path | None = None) -> dict[str, Any]:
    """The training card of a family. Raises PackagedWeightsError where there is none."""
    path = (folder or family_folder(family)) / CARD
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise PackagedWeightsError(f"{path}: no readable training card: {error}") from None


def _manifest(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        return dict(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError) as error:
        raise PackagedWeightsError(f"{folder / MANIFEST}: no readable manifest: {error}") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
