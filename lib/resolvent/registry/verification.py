"""`resolvent verify`: is everything frozen still as promised, and what does the ledger's head rest on?"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from resolvent.registry.chain import Ledger, ledger_file
from resolvent.study import Study


@dataclass(frozen=True)
class Verification:
    """What was found.

    problems  a line each; empty where everything is as promised
    head      the ledger's head hash
    lines     number of ledger lines
    claims, subjects   names that are registered
    drafts    claims in prereg/ without a ledger line
    anchor    what the head rests on: a signed tag, or "unanchored"
    """

    problems: tuple[str, ...]
    head: str
    lines: int
    claims: tuple[str, ...]
    subjects: tuple[str, ...]
    drafts: tuple[str, ...]
    anchor: str


def verify(study: Study, *, tag: str | None = None) -> Verification:
    """Verifies ledger, claims, subjects, outcomes; where git is there, that no committed ledger line was dropped.

    tag  a signed git tag that anchors the head. A tag that can't be verified is a problem.
    """
    ledger = Ledger.load(study)
    problems = [*ledger.verify(study), *_history_problems(study)]
    anchor = "unanchored (name a signed git tag to anchor it)"
    if tag is not None:
        problem, anchored = _anchor(study, tag)
        problems += problem
        anchor = anchored
    claims = ledger.registered_claims()
    files = {path.stem for path in study.prereg.glob("*.yaml") if path != study.subjects_file}
    return Verification(
        problems=tuple(problems),
        head=ledger.head,
        lines=len(ledger.entries),
        claims=tuple(sorted(claims)),
        subjects=tuple(sorted(ledger.registered_subjects())),
        drafts=tuple(sorted(files - claims)),
        anchor=anchor,
    )


def _history_problems(study: Study) -> list[str]:
    """A committed ledger that is no beginning of the present one: lines were removed or rewritten since."""
    present = _present(study)
    commits = _git(study, "log", "--first-parent", "--format=%h", "--", "prereg/LEDGER") or ""
    problems = []
    for commit in commits.split():
        committed = _git(study, "show", f"{commit}:./prereg/LEDGER")
        if committed is not None and not present.startswith(committed):
            problems.append(f"LEDGER: lines that commit {commit} holds were removed or edited since")
    return problems


def _anchor(study: Study, tag: str) -> tuple[list[str], str]:
    committed = _git(study, "show", f"{tag}:./prereg/LEDGER")
    if committed is None:
        return [f"tag {tag}: not found, or without prereg/LEDGER"], "unanchored"
    if _git(study, "verify-tag", tag) is None:
        return [f"tag {tag}: git finds no valid signature"], "unanchored"
    if not _present(study).startswith(committed):
        return [f"tag {tag}: lines of its LEDGER were removed or edited since"], "unanchored"
    return [], f"anchored by the signed tag {tag} up to line {committed.count(chr(10)) - 1}"


def _present(study: Study) -> str:
    path = ledger_file(study)
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _git(study: Study, *arguments: str) -> str | None:
    """What git prints, or None where it fails, is absent, or there is no repository."""
    try:
        result = subprocess.run(
            ["git", "-C", str(study.root), *arguments], capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.decode("utf-8", errors="replace") if result.returncode == 0 else None
