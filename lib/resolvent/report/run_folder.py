"""What a run leaves on disk: runs/<timestamp>/ with verdicts.jsonl, report.md, report.html and provenance.json."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from resolvent.errors import ResolventError
from resolvent.report.verdict_line import VerdictLine

VERDICTS = "verdicts.jsonl"
PROVENANCE = "provenance.json"
REPORT = "report.md"
HTML_REPORT = "report.html"


class RunFolder:
    """The folder of a run in progress. A killed run leaves a readable prefix of its verdicts.

    path    the folder
    _file   verdicts.jsonl, line-buffered, in the order of arrival until `finish`
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file: IO[str] = (path / VERDICTS).open("w", encoding="utf-8", buffering=1)

    @classmethod
    def create(cls, runs: Path, *, now: datetime.datetime) -> RunFolder:
        """A new folder named after the time in UTC; `runs/latest` points to it from now on."""
        runs.mkdir(parents=True, exist_ok=True)
        stem = now.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        for suffix in ("", *(f"-{number}" for number in range(2, 1000))):
            path = runs / (stem + suffix)
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                _point_latest(runs, path.name)
                return cls(path)
        raise ResolventError(f"{runs}: no free name for a run at {stem}")

    def append(self, json_line: str) -> None:
        self._file.write(json_line + "\n")

    def finish(self, lines: list[VerdictLine], provenance: dict[str, Any], report: str) -> None:
        """Replaces verdicts.jsonl by its sorted version, so that equal runs have equal files; writes the rest."""
        with contextlib.suppress(OSError):
            self._file.close()  # flushes what the whole file, written next, has again
        ordered = sorted(lines, key=lambda line: line.pair)
        replace_text(self.path / VERDICTS, "".join(line.to_json_line() + "\n" for line in ordered))
        replace_text(self.path / PROVENANCE, json.dumps(provenance, indent=1, ensure_ascii=False, default=str) + "\n")
        replace_text(self.path / REPORT, report)


@dataclass(frozen=True)
class FinishedRun:
    """A run read back; `provenance` is empty where the run was killed before its end."""

    path: Path
    lines: tuple[VerdictLine, ...]
    provenance: dict[str, Any]


def read_run(path: Path) -> FinishedRun:
    """The run in a folder. Raises ResolventError where there is none, or a line that is no verdict.

    The last line of a killed run may be cut off: it is left out.
    """
    file = path / VERDICTS
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ResolventError(f"{file}: cannot be read: {error.strerror}; a run's folder is runs/<timestamp>") from None
    lines = []
    whole = text.split("\n")
    for number, row in enumerate(whole, start=1):
        if not row:
            continue
        try:
            lines.append(VerdictLine.from_json_line(row))
        except (ValueError, KeyError, TypeError) as error:
            if number == len(whole):
                break
            raise ResolventError(f"{file}: line {number} is no verdict: {error!r}") from None
    try:
        provenance = json.loads((path / PROVENANCE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        provenance = {}
    except (OSError, ValueError) as error:
        raise ResolventError(f"{path / PROVENANCE}: cannot be read: {error}") from None
    if not isinstance(provenance, dict):
        raise ResolventError(f"{path / PROVENANCE}: expected a JSON object, found {type(provenance).__name__}")
    return FinishedRun(path, tuple(lines), provenance)


def replace_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _point_latest(runs: Path, name: str) -> None:
    """Where the file system has no links, the folder's name has to do."""
    temporary = runs / f".latest.{os.getpid()}"
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(name)
        os.replace(temporary, runs / "latest")
