"""`resolvent record RUN`: a run's verdicts become the recorded outcomes."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolvent.errors import ResolventError
from resolvent.registry.chain import Entry, Ledger, append, locked, replace_file, sound_ledger
from resolvent.registry.judge import RECORDABLE
from resolvent.registry.outcomes import Outcome, outcomes_file, outcomes_text, read_outcomes
from resolvent.study import Study


class RecordError(ResolventError):
    """A run whose verdicts can't be recorded."""


@dataclass(frozen=True)
class Recorded:
    """What `record` did, by (claim, subject).

    new        recorded for the first time
    replaced   recorded instead of another verdict, with a reason
    unchanged  the same verdict was recorded before; that entry stays as it is
    left_out   why it is none to be recorded: not applicable, exploratory, claim or subject not registered
    """

    new: tuple[tuple[str, str], ...]
    replaced: tuple[tuple[str, str], ...]
    unchanged: tuple[tuple[str, str], ...]
    left_out: dict[tuple[str, str], str]


def record(
    study: Study, run_dir: Path, *, replace: bool = False, reason: str = "", today: datetime.date | None = None
) -> Recorded:
    """Records the verdicts of a full run, in prereg/outcomes/ and the LEDGER: all of them or none.

    replace  lets a verdict take the place of another recorded one; needs a reason, which the LEDGER keeps.
    Raises RecordError for a run that is partial, exploratory or incomplete, that has a line which isn't a verdict
    (UNAVAILABLE, a failure), that was made under other claims than those registered now, and for FLIPPED verdicts.
    """
    run_dir = Path(run_dir).resolve()
    if replace and not reason.strip():
        raise RecordError("replacing a recorded outcome needs a reason")
    _check_provenance(run_dir)
    lines = _verdict_lines(run_dir)
    day = today or datetime.date.today()
    with locked(study):
        ledger = sound_ledger(study)
        _finish_interrupted(study, ledger, lines, run_dir.name)
        problems = ledger.verify(study)
        if problems:
            raise RecordError(
                "what is frozen differs from the LEDGER; nothing is recorded:\n  " + "\n  ".join(problems)
            )
        _check_same_claims(run_dir, ledger, {claim for claim, _ in lines})
        new: dict[tuple[str, str], Outcome] = {}
        flips: dict[tuple[str, str], str] = {}
        unchanged: list[tuple[str, str]] = []
        left_out: dict[tuple[str, str], str] = {}
        for (claim, subject), line in lines.items():
            why = _why_left_out(ledger, claim, subject, line)
            if why:
                left_out[claim, subject] = why
                continue
            before = read_outcomes(outcomes_file(study, claim)).get(subject)
            if before is not None and before.verdict == line["verdict"]:
                unchanged.append((claim, subject))
                continue
            if before is not None:
                flips[claim, subject] = (
                    f"{claim} on {subject}: {before.verdict} (recorded {before.date} from {before.run}), "
                    f"now {line['verdict']}"
                )
            new[claim, subject] = _outcome(line, day, run_dir.name)
        if flips and not replace:
            raise RecordError(
                "FLIPPED; nothing is recorded. Find out why, then record again with --replace and a --reason:\n  "
                + "\n  ".join(flips.values())
            )
        if new:
            _write(study, ledger, new, {pair: reason.strip() for pair in flips})
        return Recorded(
            new=tuple(pair for pair in new if pair not in flips),
            replaced=tuple(flips),
            unchanged=tuple(unchanged),
            left_out=left_out,
        )


def _why_left_out(ledger: Ledger, claim: str, subject: str, line: dict[str, Any]) -> str:
    """Why a verdict is none to be recorded; empty where it is one."""
    if line["verdict"] == "not_applicable":
        return "the claim does not apply to it"
    if claim not in ledger.registered_claims():
        return f"the claim is an unregistered draft (resolvent register {claim}, then run again)"
    if subject not in ledger.registered_subjects():
        return "the subject is not registered"
    if line.get("exploratory"):
        reasons = line.get("exploratory_because") or ["made under other conditions than the registered ones"]
        return f"exploratory: {'; '.join(map(str, reasons))}"
    return ""


def _check_provenance(run_dir: Path) -> None:
    path = run_dir / "provenance.json"
    try:
        provenance = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: cannot be read ({error}); was the run killed?") from None
    if not isinstance(provenance, dict):
        raise RecordError(f"{path}: expected a JSON object, found {type(provenance).__name__}")
    for key in ("partial", "exploratory"):
        if not isinstance(provenance.get(key), bool):
            raise RecordError(f"{path}: {key}: found {provenance.get(key)!r}; allowed: true or false")
    for key in ("partial", "exploratory", "incomplete"):
        if provenance.get(key):
            raise RecordError(f"{run_dir}: the run is {key.upper()}; only a full run of the study can be recorded")


def _verdict_lines(run_dir: Path) -> dict[tuple[str, str], dict[str, Any]]:
    path = run_dir / "verdicts.jsonl"
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: cannot be read: {error}") from None
    for number, row in enumerate(text.splitlines(), start=1):
        try:
            line = json.loads(row)
            pair = (str(line["claim"]), str(line["subject"]))
            verdict = line["verdict"]
            line["metrics"] = {str(name): float(number) for name, number in line["metrics"].items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise RecordError(f"{path}: line {number} is no verdict: {error!r}") from None
        if verdict not in (*RECORDABLE, "not_applicable"):
            raise RecordError(
                f"{path}: line {number}: {pair[0]} on {pair[1]}: found {verdict!r}; allowed: {', '.join(RECORDABLE)}. "
                "A run with a failure can't be recorded"
            )
        if pair in lines:
            raise RecordError(f"{path}: line {number}: {pair[0]} on {pair[1]} stands twice")
        lines[pair] = line
    if not lines:
        raise RecordError(f"{path}: no verdict")
    return lines


def _check_same_claims(run_dir: Path, ledger: Ledger, claims: set[str]) -> None:
    """Refuses a run made before one of its claims was amended, where its provenance names a ledger head."""
    head = json.loads((run_dir / "provenance.json").read_text(encoding="utf-8")).get("ledger_head")
    if head is None:
        return
    heads = ledger.heads()
    if head not in heads:
        raise RecordError(f"{run_dir}: made under another LEDGER (its head {str(head)[:12]} is none of ours)")
    for entry in ledger.entries[heads.index(head) :]:
        if entry.event == "amended" and entry.name in claims:
            raise RecordError(f"{run_dir}: made before {entry.name} was amended on {entry.date}; run the study again")


def _outcome(line: dict[str, Any], day: datetime.date, run: str) -> Outcome:
    return Outcome(verdict=line["verdict"], date=day, metrics=line["metrics"], run=run)


def _finish_interrupted(study: Study, ledger: Ledger, lines: dict[tuple[str, str], dict[str, Any]], run: str) -> None:
    """Writes outcomes that an interrupted `record` of this run left in the LEDGER only."""
    for (claim, subject), line in lines.items():
        entry = ledger.outcome(claim, subject)
        if entry is None or entry.run != run or line["verdict"] != entry.verdict:
            continue
        outcomes = read_outcomes(outcomes_file(study, claim))
        outcome = _outcome(line, entry.date, run)
        present = outcomes.get(subject)
        if outcome.sha256(claim, subject) == entry.sha256 and (present is None or present.verdict != entry.verdict):
            outcomes[subject] = outcome
            replace_file(outcomes_file(study, claim), outcomes_text(outcomes).encode("utf-8"))


def _write(
    study: Study, ledger: Ledger, new: dict[tuple[str, str], Outcome], reasons: dict[tuple[str, str], str]
) -> None:
    entries = [
        Entry(
            seq=len(ledger.entries) + index,
            date=outcome.date,
            event="outcome",
            what=f"claim:{claim}",
            sha256=outcome.sha256(claim, subject),
            subject=subject,
            verdict=outcome.verdict,
            run=outcome.run,
            reason=reasons.get((claim, subject)),
        )
        for index, ((claim, subject), outcome) in enumerate(sorted(new.items()))
    ]
    append(study, ledger, entries)
    for claim in sorted({claim for claim, _ in new}):
        outcomes = read_outcomes(outcomes_file(study, claim))
        outcomes |= {subject: outcome for (name, subject), outcome in new.items() if name == claim}
        replace_file(outcomes_file(study, claim), outcomes_text(outcomes).encode("utf-8"))
