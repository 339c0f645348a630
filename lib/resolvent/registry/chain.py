"""prereg/LEDGER: what was promised and found, append-only and hash-chained.

One JSON object a line:

    seq        its number, from 0
    date       YYYY-MM-DD
    event      registered | amended | outcome
    what       claim:<name> | subject:<name> | text:<name> | seed
    sha256     of the frozen content (see canonical.py); for an outcome, of the outcome
    subject, verdict, run     outcome only
    reason     amended, and an outcome that replaces another
    previous   SHA-256 of the previous line (64 zeros for the first)
    check      SHA-256 of this line without `check`, so that an edit of the last line shows too

The head is the SHA-256 of the last line. The chain is tamper-evident, not tamper-proof: whoever rewrites all of it
makes another head. It proves something only where the head is anchored, in a signed tag or elsewhere.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolvent.errors import ResolventError
from resolvent.registry.canonical import canonical_json, claim_hash, sha256_text, subjects_hashes
from resolvent.registry.outcomes import outcomes_file, read_outcomes
from resolvent.study import Study

NOTHING = "0" * 64
_EVENTS = ("registered", "amended", "outcome")
_KEYS = {"seq", "date", "event", "what", "sha256", "previous", "check"}


class LedgerError(ResolventError):
    """A ledger, or a frozen file, that is not what the ledger says."""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; the fields are described at the head of the module."""

    seq: int
    date: datetime.date
    event: str
    what: str
    sha256: str
    subject: str | None = None
    verdict: str | None = None
    run: str | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        """What stands after the colon of `what`."""
        return self.what.partition(":")[2] or self.what

    def line(self, previous: str) -> str:
        """The entry as a line that follows the line with the hash `previous`."""
        fields: dict[str, Any] = {
            "seq": self.seq,
            "date": self.date.isoformat(),
            "event": self.event,
            "what": self.what,
            "sha256": self.sha256,
        }
        for name in ("subject", "verdict", "run", "reason"):
            if getattr(self, name) is not None:
                fields[name] = getattr(self, name)
        fields["previous"] = previous
        fields["check"] = sha256_text(canonical_json(fields))
        return json.dumps(fields, ensure_ascii=False)


@dataclass(frozen=True)
class Ledger:
    """The ledger as read.

    entries   the lines that can be read, in order
    head      SHA-256 of the last line, 64 zeros where there is none
    broken    what is wrong with the chain itself, line by line; empty for an untouched ledger
    """

    entries: tuple[Entry, ...]
    head: str
    broken: tuple[str, ...]

    @classmethod
    def load(cls, study: Study) -> Ledger:
        """The ledger of a study; an absent one is empty. A damaged line is a line of `broken`, not an exception."""
        path = ledger_file(study)
        if not path.exists():
            return cls((), NOTHING, ())
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            return cls((), NOTHING, (f"LEDGER: cannot be read: {error}",))
        return parse_ledger(text)

    def registered_claims(self) -> set[str]:
        """The names of the claims with a registered line."""
        return self._registered("claim")

    def registered_subjects(self) -> set[str]:
        """The names of the subjects with a registered line."""
        return self._registered("subject")

    def registered_texts(self) -> set[str]:
        """The names of the texts with a registered line."""
        return self._registered("text")

    def sha256(self, what: str) -> str | None:
        """The hash that the frozen `what` must have now, or None where it isn't registered."""
        hashes = [e.sha256 for e in self.entries if e.what == what and e.event in ("registered", "amended")]
        return hashes[-1] if hashes else None

    def amended(self, claim: str) -> tuple[Entry, ...]:
        """The amendments of a claim, in order."""
        return tuple(e for e in self.entries if e.event == "amended" and e.what == f"claim:{claim}")

    def heads(self) -> list[str]:
        """The head before each line and after the last: `entries[heads.index(h):]` came after the head h."""
        heads = [NOTHING]
        for entry in self.entries:
            heads.append(sha256_text(entry.line(heads[-1])))
        return heads

    def outcome(self, claim: str, subject: str) -> Entry | None:
        """The line of the current outcome: the last one since the claim's last amendment."""
        return self._outcomes().get((claim, len(self.amended(claim)), subject))

    def verify(self, study: Study) -> list[str]:
        """What differs from the ledger, a line each; empty where all is as promised.

        Chain, claim files, entries of subjects.yaml, outcomes and superseded versions. Cheap: reads files only.
        """
        return [
            *self.broken,
            *self._claim_problems(study),
            *self._subject_problems(study),
            *self._outcome_problems(study),
        ]

    def _registered(self, kind: str) -> set[str]:
        return {e.name for e in self.entries if e.event == "registered" and e.what.startswith(f"{kind}:")}

    def _outcomes(self) -> dict[tuple[str, int, str], Entry]:
        """The last outcome line by (claim, version, subject); the version counts the amendments before it."""
        versions: dict[str, int] = {}
        found: dict[tuple[str, int, str], Entry] = {}
        for entry in self.entries:
            if entry.event == "amended":
                versions[entry.name] = versions.get(entry.name, 0) + 1
            elif entry.event == "outcome":
                found[entry.name, versions.get(entry.name, 0), entry.subject or ""] = entry
        return found

    def _claim_problems(self, study: Study) -> list[str]:
        problems = []
        for claim in sorted(self.registered_claims()):
            versions = [e for e in self.entries if e.what == f"claim:{claim}" and e.event != "outcome"]
            for number, entry in enumerate(versions, start=1):
                current = number == len(versions)
                path = claim_file(study, claim) if current else superseded_file(study, claim, number)
                shown = path.relative_to(study.root)
                if not path.is_file():
                    problems.append(f"{shown}: missing; {entry.event} on {entry.date} (LEDGER line {entry.seq})")
                    continue
                try:
                    found = claim_hash(path)
                except ResolventError as error:
                    problems.append(f"{shown}: {entry.event} on {entry.date}, now unreadable: {error}")
                    continue
                if found != entry.sha256:
                    problems.append(
                        f"{shown}: differs from what was {entry.event} on {entry.date} (LEDGER line {entry.seq}: "
                        f"{entry.sha256[:12]}, file: {found[:12]}); restore it, or restore it and give the new version "
                        f"to `resolvent amend {claim}` with a reason"
                    )
        return problems

    def _subject_problems(self, study: Study) -> list[str]:
        frozen = [e for e in self.entries if e.event == "registered" and not e.what.startswith("claim:")]
        if not frozen:
            return []
        shown = study.subjects_file.relative_to(study.root)
        try:
            hashes = subjects_hashes(study.subjects_file)
        except ResolventError as error:
            return [f"{shown}: unreadable: {error}"]
        problems = []
        for entry in frozen:
            kind = entry.what.partition(":")[0]
            place = "seed or the rules in its comments" if kind == "seed" else f"{kind}s.{entry.name}"
            found = hashes.get(entry.what)
            if found is None:
                problems.append(f"{shown}: {place}: missing; registered on {entry.date} (LEDGER line {entry.seq})")
            elif found != entry.sha256:
                problems.append(
                    f"{shown}: {place}: differs from what was registered on {entry.date} (LEDGER line {entry.seq}: "
                    f"{entry.sha256[:12]}, file: {found[:12]}); restore it"
                )
        return problems

    def _outcome_problems(self, study: Study) -> list[str]:
        promised: dict[Path, dict[str, Entry]] = {}
        for (claim, version, subject), entry in self._outcomes().items():
            path = self._outcomes_path(study, claim, version)
            promised.setdefault(path, {})[subject] = entry
        present = set((study.prereg / "outcomes").glob("*.yaml"))
        present |= set((study.prereg / "amendments").glob("*.outcomes.yaml"))
        problems = []
        for path in sorted(present | set(promised)):
            shown = path.relative_to(study.root)
            claim = path.name.partition(".")[0]
            expected = promised.get(path, {})
            try:
                outcomes = read_outcomes(path)
            except ResolventError as error:
                problems.append(f"{shown}: unreadable: {error}")
                continue
            for subject in sorted(set(outcomes) | set(expected)):
                line, outcome = expected.get(subject), outcomes.get(subject)
                if line is None:
                    problems.append(f"{shown}: {subject}: the LEDGER has no line for this outcome")
                elif outcome is None:
                    problems.append(f"{shown}: {subject}: missing; recorded on {line.date} (LEDGER line {line.seq})")
                elif outcome.sha256(claim, subject) != line.sha256:
                    problems.append(
                        f"{shown}: {subject}: differs from the outcome recorded on {line.date} (LEDGER line {line.seq})"
                    )
        return problems

    def _outcomes_path(self, study: Study, claim: str, version: int) -> Path:
        if version == len(self.amended(claim)):
            return outcomes_file(study, claim)
        return superseded_outcomes_file(study, claim, version + 1)


def ledger_file(study: Study) -> Path:
    """Where the ledger stands."""
    return study.prereg / "LEDGER"


def claim_file(study: Study, claim: str) -> Path:
    """Where a claim stands."""
    return study.prereg / f"{claim}.yaml"


def superseded_file(study: Study, claim: str, number: int) -> Path:
    """Where the version stands that amendment `number` (from 1) superseded."""
    return study.prereg / "amendments" / f"{claim}.{number}.yaml"


def superseded_outcomes_file(study: Study, claim: str, number: int) -> Path:
    """Where the outcomes of that version stand."""
    return study.prereg / "amendments" / f"{claim}.{number}.outcomes.yaml"


def parse_ledger(text: str) -> Ledger:
    """The ledger of a text; what is wrong with its chain stands in `broken`."""
    lines = text.split("\n")
    broken: list[str] = []
    if lines.pop() != "":
        broken.append("LEDGER: the last line does not end; it was cut or edited")
        lines = text.split("\n")
    entries: list[Entry] = []
    previous = NOTHING
    for number, line in enumerate(lines):
        try:
            fields = json.loads(line)
            entry = _entry(fields)
        except (ValueError, TypeError, KeyError) as error:
            broken.append(f"LEDGER line {number}: not a ledger line: {error}")
            previous = sha256_text(line)
            continue
        if entry.seq != number:
            broken.append(f"LEDGER line {number}: has seq {entry.seq}; lines were removed, added or reordered")
        if fields["previous"] != previous:
            broken.append(f"LEDGER line {number}: does not follow the line before it; that line was edited or removed")
        if line != entry.line(fields["previous"]):
            broken.append(f"LEDGER line {number}: was edited (its own check differs)")
        entries.append(entry)
        previous = sha256_text(line)
    return Ledger(tuple(entries), previous, tuple(broken))


@contextlib.contextmanager
def locked(study: Study) -> Iterator[None]:
    """The study's ledger, frozen files and outcomes, for one writer at a time.

    Raises LedgerError where another process keeps it for a minute.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(study.prereg / ".LEDGER.lock", timeout=60):
            yield
    except Timeout:
        raise LedgerError(f"{ledger_file(study)}: another process has been writing for a minute") from None


def sound_ledger(study: Study) -> Ledger:
    """The ledger, to be appended to. Raises LedgerError where its chain is broken."""
    ledger = Ledger.load(study)
    if ledger.broken:
        raise LedgerError(
            f"{ledger_file(study)}: the chain is broken; nothing is appended:\n  " + "\n  ".join(ledger.broken)
        )
    return ledger


def append(study: Study, ledger: Ledger, entries: Sequence[Entry]) -> Ledger:
    """The ledger with the entries appended, on disk: all of them or none. The caller holds the lock."""
    path = ledger_file(study)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    head = ledger.head
    for entry in entries:
        line = entry.line(head)
        text += line + "\n"
        head = sha256_text(line)
    replace_file(path, text.encode("utf-8"))
    return Ledger((*ledger.entries, *entries), head, ledger.broken)


def replace_file(path: Path, content: bytes) -> None:
    """Writes the file whole: a reader, or a crash, sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _entry(fields: Mapping[str, Any]) -> Entry:
    if not isinstance(fields, dict) or not set(fields) >= _KEYS:
        raise ValueError(f"needs the keys {', '.join(sorted(_KEYS))}")
    if fields["event"] not in _EVENTS:
        raise ValueError(f"the event {fields['event']!r}; allowed: {', '.join(_EVENTS)}")
    optional = {name: fields.get(name) for name in ("subject", "verdict", "run", "reason")}
    return Entry(
        seq=int(fields["seq"]),
        date=datetime.date.fromisoformat(fields["date"]),
        event=fields["event"],
        what=str(fields["what"]),
        sha256=str(fields["sha256"]),
        **optional,
    )
