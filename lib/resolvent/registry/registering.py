"""`resolvent register` and `resolvent amend`: freezing claims and subjects, and changing a claim with a reason."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from resolvent.registry.canonical import claim_hash, subjects_hashes
from resolvent.registry.chain import (
    Entry,
    Ledger,
    LedgerError,
    append,
    claim_file,
    locked,
    replace_file,
    sound_ledger,
    superseded_file,
    superseded_outcomes_file,
)
from resolvent.registry.outcomes import Outcome, outcomes_file, read_outcomes
from resolvent.registry.schema import load_claim
from resolvent.study import Study


@dataclass(frozen=True)
class Amendment:
    """A superseded version of a claim.

    number    from 1; version `number` was superseded on `date`, for `reason`
    file      the superseded version
    outcomes  what had been recorded for it, by subject
    """

    number: int
    date: datetime.date
    reason: str
    file: Path
    outcomes: dict[str, Outcome]


def register(
    study: Study,
    claims: Sequence[str],
    subjects: Sequence[str] | None = None,
    *,
    today: datetime.date | None = None,
) -> list[Entry]:
    """Registers claims and subjects as they stand in prereg/; returns the new lines, none where nothing is new.

    subjects  names of subjects.yaml; None = all of them. Seed and all texts go with them.
    today     the date of the lines; None = the clock's.

    All or nothing. Raises LedgerError for what is registered with other content (a claim is then to be amended), for
    an unknown subject, and where the chain is broken; SchemaError and YamlError for a claim that does not load.
    """
    hashes = subjects_hashes(study.subjects_file)
    known = [what.partition(":")[2] for what in hashes if what.startswith("subject:")]
    chosen = known if subjects is None else list(subjects)
    for name in chosen:
        if name not in known:
            raise LedgerError(f"{study.subjects_file}: no subject '{name}'; allowed: {', '.join(known)}")
    wanted = {what: hashes[what] for what in ["seed", *(what for what in hashes if what.startswith("text:"))]}
    wanted |= {f"subject:{name}": hashes[f"subject:{name}"] for name in chosen}
    for claim in claims:
        for name in load_claim(claim_file(study, claim)).seen:
            if name not in known:
                raise LedgerError(
                    f"{claim_file(study, claim)}: seen: no subject '{name}' in {study.subjects_file.name}; "
                    f"allowed: {', '.join(known)}"
                )
        wanted[f"claim:{claim}"] = claim_hash(claim_file(study, claim))
    with locked(study):
        ledger = sound_ledger(study)
        new: list[Entry] = []
        for what, sha256 in wanted.items():
            before = ledger.sha256(what)
            if before is None:
                new.append(Entry(len(ledger.entries) + len(new), _day(today), "registered", what, sha256))
            elif before != sha256:
                raise LedgerError(_refusal(study, what))
        if new:
            append(study, ledger, new)
        return new


def amend(study: Study, claim: str, new_file: Path, reason: str, *, today: datetime.date | None = None) -> Entry:
    """Replaces a registered claim by `new_file`, with a reason; returns the new line.

    The old version goes to prereg/amendments/<claim>.<n>.yaml, its outcomes to <claim>.<n>.outcomes.yaml: both are
    shown afterwards, and verdicts of the new version are post hoc. Raises LedgerError without a reason, for a claim
    that isn't registered, for equal content, and where the registered version can't be found on disk.
    """
    if not reason.strip():
        raise LedgerError(f"{claim}: an amendment needs a reason")
    if not Path(new_file).is_file():
        raise LedgerError(f"{new_file}: no such file")
    content = Path(new_file).read_bytes()
    target = claim_file(study, claim)
    with locked(study):
        ledger = sound_ledger(study)
        frozen = ledger.sha256(f"claim:{claim}")
        if frozen is None:
            registered = ", ".join(sorted(ledger.registered_claims())) or "none"
            raise LedgerError(f"{claim}: not registered, so simply edit it; registered: {registered}")
        load_claim(new_file, name=claim)
        sha256 = claim_hash(new_file)
        if sha256 == frozen:
            raise LedgerError(f"{new_file}: equals what is registered; nothing to amend")
        number = len(ledger.amended(claim)) + 1
        kept = superseded_file(study, claim, number)
        if target.is_file() and claim_hash(target) == frozen:
            replace_file(kept, target.read_bytes())
        elif not (kept.is_file() and claim_hash(kept) == frozen):
            raise LedgerError(
                f"{target}: is not the registered version, which must be kept; restore it (git checkout) and give the "
                "new version as a file of its own"
            )
        old_outcomes = outcomes_file(study, claim)
        kept_outcomes = superseded_outcomes_file(study, claim, number)
        if old_outcomes.is_file():
            replace_file(kept_outcomes, old_outcomes.read_bytes())
            old_outcomes.unlink()
        entry = Entry(len(ledger.entries), _day(today), "amended", f"claim:{claim}", sha256, reason=reason.strip())
        replace_file(target, content)
        append(study, ledger, [entry])
        return entry


def amendments(study: Study, claim: str) -> tuple[Amendment, ...]:
    """The superseded versions of a claim, oldest first; empty for a claim that was never amended.

    Where there is one, verdicts of the current version are to be labelled post hoc.
    """
    lines = Ledger.load(study).amended(claim)
    return tuple(
        Amendment(
            number,
            line.date,
            line.reason or "",
            superseded_file(study, claim, number),
            read_outcomes(superseded_outcomes_file(study, claim, number)),
        )
        for number, line in enumerate(lines, start=1)
    )


def _refusal(study: Study, what: str) -> str:
    kind, _, name = what.partition(":")
    if kind == "claim":
        return (
            f"{claim_file(study, name)}: registered with other content; restore it, or give the new version to "
            f"`resolvent amend {name} FILE --reason …`"
        )
    place = "seed or the rules in its comments" if kind == "seed" else f"{kind}s.{name}"
    return f"{study.subjects_file}: {place}: registered with other content; restore it, or add an entry of a new name"


def _day(today: datetime.date | None) -> datetime.date:
    return today or datetime.date.today()
