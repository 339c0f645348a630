"""Why a chosen subject can't be run on: its model or its texts are missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resolvent.models.subjects import StudySubjects, Subject
    from resolvent.study import Study

_WEIGHTS = (".safetensors", ".bin")


def why_unavailable(study: Study, subjects: StudySubjects, subject: Subject) -> str | None:
    """None where model and corpus are there, else one line; reads names and sizes, no contents."""
    reason = subjects.available(study, subject)
    if reason is None and subject.directory is not None:
        for folder in _folders(study, subject):
            if not any(file.suffix in _WEIGHTS for file in folder.iterdir()):
                return f"{subject.name}: {folder} has no weights (*.safetensors or *.bin)"
    return reason


def _folders(study: Study, subject: Subject) -> Iterator[Path]:
    yield subject.folder(study)
    if subject.series is not None:
        yield from (subject.checkpoint_folder(study, step) for step in subject.series.steps[:-1])
