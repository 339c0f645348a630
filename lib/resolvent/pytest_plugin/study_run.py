"""What every process of a run knows: the study, the subjects chosen, the claims, the evidence engine."""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from resolvent.errors import ResolventError
from resolvent.pytest_plugin.availability import why_unavailable
from resolvent.pytest_plugin.options import RunOptions, run_options
from resolvent.study import Study, open_study
from resolvent.writable import why_not_writable

if TYPE_CHECKING:
    from resolvent.evidence.engine import Engine
    from resolvent.models.subjects import StudySubjects, Subject
    from resolvent.registry import Claim, Ledger

WORKER_KEY = "resolvent"


@dataclass
class StudyRun:
    """The state of one run in one process. Workers get theirs from the controller, so that all agree.

    study, options
    subjects     those of the study, with the directories given on the command line added
    chosen       names of the subjects to run on, in order
    cohort       names of the subjects against which completeness is judged
    registered   claims with a ledger line; `registered_subjects` likewise
    recorded     (claim, subject) -> recorded verdict
    unavailable  subject name -> why its model or texts are missing
    amended      claims with an amendment: their verdicts are post hoc
    ledger       as read by the controller, None in workers
    engine       evidence
    """

    study: Study
    options: RunOptions
    subjects: StudySubjects
    chosen: tuple[str, ...]
    cohort: tuple[str, ...]
    registered: frozenset[str]
    registered_subjects: frozenset[str]
    recorded: Mapping[tuple[str, str], str]
    unavailable: Mapping[str, str]
    amended: frozenset[str]
    engine: Engine
    ledger: Ledger | None = None
    views: dict[str, type] = field(default_factory=dict)
    _claims: dict[str, Claim] = field(default_factory=dict)

    @property
    def claims_folder(self) -> Path:
        return self.study.root / "claims"

    def subject(self, name: str) -> Subject:
        return self.subjects.subjects[name]

    def claim(self, name: str) -> Claim:
        """The claim of that name. Raises ResolventError where prereg/ has none."""
        if name not in self._claims:
            from resolvent.registry import load_claim

            path = self.study.prereg / f"{name}.yaml"
            if not path.is_file():
                raise ResolventError(f"no claim '{name}': {path} is missing; a test is named test_<claim>")
            self._claims[name] = load_claim(path)
        return self._claims[name]

    def kind(self, claim: Claim) -> str:
        """The claim's kind; post_hoc where it was amended."""
        return "post_hoc" if claim.name in self.amended else claim.kind

    def protocol(self, claim: Claim) -> dict[str, Any]:
        """The claim's protocol as this run follows it (`--texts`)."""
        protocol = dict(claim.protocol)
        if self.options.texts is not None and "texts" in protocol:
            protocol["texts"] = self.options.texts
        return protocol

    def exploratory_reasons(self, claim: Claim, subject: str) -> tuple[str, ...]:
        """Why a verdict of this run on this subject proves nothing; empty where it counts."""
        reasons = []
        if claim.name not in self.registered:
            reasons.append("the claim is an unregistered draft")
        if subject not in self.registered_subjects:
            reasons.append("the subject is not registered")
        if self.protocol(claim) != claim.protocol:
            reasons.append(f"--texts={self.options.texts} in place of {claim.protocol['texts']}")
        return tuple(reasons)

    def load_views(self, entries: Iterable[Mapping[str, str]]) -> None:
        """Imports the view classes. Raises ResolventError for a name that stands twice or a path that leads nowhere."""
        from resolvent.evidence.views import view_class

        for entry in entries:
            for name, place in entry.items():
                if name in self.views:
                    raise ResolventError(f"view '{name}' is defined twice; pytest_resolvent_views needs another name")
                self.views[name] = view_class(name, place)

    def worker_input(self) -> dict[str, Any]:
        """What a worker, also a replacement, needs to rebuild this object: plain types only."""
        return {
            "root": str(self.study.root),
            "evidence": str(self.study.evidence),
            "registered": sorted(self.registered),
            "registered_subjects": sorted(self.registered_subjects),
            "recorded": [[claim, subject, verdict] for (claim, subject), verdict in self.recorded.items()],
            "unavailable": dict(self.unavailable),
            "amended": sorted(self.amended),
            "engine": self.engine.snapshot(name for name in self.chosen if name not in self.unavailable),
        }


def covers_claims(config: pytest.Config, claims: Path) -> bool:
    """Whether an argument of the command line contains, is, or lies in the claims folder."""
    claims = claims.resolve()
    for argument in config.args:
        path = (config.invocation_params.dir / argument.partition("::")[0]).resolve()
        if path == claims or path in claims.parents or claims in path.parents:
            return True
    return False


def selects_whole_folder(config: pytest.Config, claims: Path) -> bool:
    """Whether one argument alone contains the whole claims folder."""
    claims = claims.resolve()
    paths = [config.invocation_params.dir / argument for argument in config.args if "::" not in argument]
    return any(path.resolve() == claims or path.resolve() in claims.parents for path in paths)


def start_run(config: pytest.Config) -> StudyRun | None:
    """The run of the controller (or of the only process); None where no argument covers claims/.

    Raises pytest.UsageError where a frozen file differs from the LEDGER, an option names nothing, or a folder that the
    run would write to can't be written.
    """
    if not (config.rootpath / "prereg" / "subjects.yaml").is_file():
        return None
    if not covers_claims(config, config.rootpath / "claims"):
        return None
    options = run_options(config)
    writes = not (options.plan_only or config.option.collectonly)
    try:
        return _start(config.rootpath, options, writes=writes)
    except ResolventError as error:
        raise pytest.UsageError(str(error)) from None


def join_run(config: pytest.Config, given: Mapping[str, Any]) -> StudyRun:
    """The run as the controller handed it to this worker."""
    from resolvent.evidence.engine import Engine

    options = run_options(config)
    study = open_study(Path(given["root"]), evidence=Path(given["evidence"]))
    subjects, chosen, cohort = _choose(study, options)
    return StudyRun(
        study=study,
        options=options,
        subjects=subjects,
        chosen=chosen,
        cohort=cohort,
        registered=frozenset(given["registered"]),
        registered_subjects=frozenset(given["registered_subjects"]),
        recorded={(claim, subject): verdict for claim, subject, verdict in given["recorded"]},
        unavailable=given["unavailable"],
        amended=frozenset(given["amended"]),
        engine=Engine.from_snapshot(study, subjects, given["engine"]),
    )


def _start(root: Path, options: RunOptions, *, writes: bool) -> StudyRun:
    from resolvent.evidence.engine import Engine
    from resolvent.models.devices import chosen_device
    from resolvent.registry import Ledger, recorded

    study = open_study(root, evidence=options.evidence)
    ledger = Ledger.load(study)
    problems = ledger.verify(study)
    if problems:
        raise ResolventError(
            "the study differs from its LEDGER:\n  "
            + "\n  ".join(problems)
            + "\nRestore the file, or register or amend it (resolvent verify | register | amend)."
        )
    subjects, chosen, cohort = _choose(study, options)
    reasons = {name: why_unavailable(study, subjects, subjects.subjects[name]) for name in chosen}
    engine = Engine(study, subjects, run_id=_run_id(), device=chosen_device(options.device))
    if writes:
        _check_writable(study, options, engine)
    return StudyRun(
        study=study,
        options=options,
        subjects=subjects,
        chosen=chosen,
        cohort=cohort,
        registered=frozenset(ledger.registered_claims()),
        registered_subjects=frozenset(ledger.registered_subjects()),
        recorded={pair: outcome.verdict for pair, outcome in recorded(study).items()},
        unavailable={name: reason for name, reason in reasons.items() if reason},
        amended=frozenset(name for name in ledger.registered_claims() if ledger.amended(name)),
        engine=engine,
        ledger=ledger,
    )


def _check_writable(study: Study, options: RunOptions, engine: Engine) -> None:
    """Raises ResolventError where no verdict could be kept, or no evidence be computed.

    A store that only can't be written is enough for claims whose evidence is complete, and refused later for others.
    """
    run_folder = options.run_dir.resolve() if options.run_dir is not None else study.runs
    reason = why_not_writable(run_folder)
    if reason is not None:
        raise ResolventError(f"{reason}, so this run could not be kept; name another folder with --run-dir=DIR")
    if not engine.present:
        reason = engine.store.why_not_writable()
        if reason is not None:
            raise ResolventError(f"{reason}, and there is no evidence; name another folder with --evidence-dir=DIR")


def _choose(study: Study, options: RunOptions) -> tuple[StudySubjects, tuple[str, ...], tuple[str, ...]]:
    """The subjects with local directories added, the names to run on, the names of the cohort."""
    from resolvent.models.subjects import load_subjects, local_subject

    subjects = load_subjects(study)
    cohort = tuple(subject.name for subject in subjects.cohort(options.cohort))
    chosen = []
    for given in options.subjects:
        if given in subjects.subjects or given in subjects.broken:
            chosen.append(subjects.subject(given).name)
        elif Path(given).is_dir():
            subject = local_subject(Path(given), cache=study.fetched / "local_models.json")
            subjects = subjects.with_subject(subject)
            chosen.append(subject.name)
        else:
            known = ", ".join(subjects.subjects)
            raise ResolventError(f"--subject={given}: neither a subject of the study ({known}) nor a directory")
    return subjects, tuple(chosen) or cohort, cohort


def _run_id() -> str:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
    return f"{now}-{os.getpid()}-{secrets.token_hex(3)}"
