"""The controller of a run (or its only process): gathers verdicts, writes the run folder, holds the gate."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from resolvent.pytest_plugin.completeness import Completeness, Pair, completeness, pair_of, tested_claims
from resolvent.pytest_plugin.progress import Progress, terminal_writer
from resolvent.pytest_plugin.study_run import WORKER_KEY, StudyRun
from resolvent.report.run_folder import HTML_REPORT, PROVENANCE, REPORT, VERDICTS, RunFolder
from resolvent.report.subject_words import SubjectWords
from resolvent.report.verdict_line import VerdictLine


class Controller:
    """Runs in one process of a session, which sees every report.

    folder      of this run, once a claim is known to be selected
    lines       one verdict a claim × subject: a worker killed after reporting gives a second, equal one
    judged_by   the test's file of each pair's first verdict
    conflicts   pairs whose second verdict differed from the first: an error, in words
    selected, reported   pairs of this run
    evidence    keys that verdicts rest on
    durations   node id -> seconds
    gate        the completeness, at the end
    words       what each subject is, at the end
    problems    what could not be written or made, a line each
    kept        whether the verdicts could be written
    """

    def __init__(self, run: StudyRun, config: pytest.Config) -> None:
        self.run = run
        self.config = config
        self.folder: RunFolder | None = None
        self.lines: dict[Pair, VerdictLine] = {}
        self.judged_by: dict[Pair, str] = {}
        self.conflicts: dict[Pair, str] = {}
        self.unavailable: set[Pair] = set()
        self.selected: set[Pair] = set()
        self.reported: set[Pair] = set()
        self.evidence: set[str] = set()
        self.durations: dict[str, float] = {}
        self.gate: Completeness | None = None
        self.words: tuple[SubjectWords, ...] = ()
        self.problems: list[str] = []
        self.kept = True
        self.progress = Progress(terminal_writer(config))
        self._began = datetime.datetime.now(datetime.UTC)
        self._clock = time.monotonic()
        self._worker_input: dict[str, Any] | None = None

    def pytest_report_header(self) -> list[str]:
        ledger = self.run.ledger
        head = f"ledger: {len(ledger.entries)} lines, head {ledger.head[:16]} (unanchored)" if ledger else "no ledger"
        return [f"subjects: {', '.join(self.run.chosen)}", head, f"evidence: {self.run.study.evidence}"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """The same snapshot for every worker, replacements included."""
        if self._worker_input is None:
            self._worker_input = self.run.worker_input()
        node.workerinput[WORKER_KEY] = self._worker_input

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        self._collected(ids)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items and not self.config.option.collectonly:
            self._collected([item.nodeid for item in session.items])

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0.0) + getattr(report, "duration", 0.0)
        if report.nodeid.startswith("evidence::"):
            if report.when == "call" and report.passed:
                self.progress.shard_done(getattr(report, "resolvent_matrices", 0))
            return
        pair = pair_of(report.nodeid)
        if pair is None or report.outcome == "rerun":
            return
        self.reported.add(pair)
        if getattr(report, "resolvent_shown", None) and not hasattr(report, "resolvent_verdict"):
            self.unavailable.add(pair)
        if hasattr(report, "resolvent_verdict"):
            self.evidence.update(report.resolvent_evidence)
            self._fit(report)
            self._keep(pair, report.resolvent_verdict, report.nodeid.partition("::")[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.progress.stop()
        if self.folder is None:
            return
        self.gate = completeness(
            expected=self._expected(),
            selected=self.selected,
            reported=self.reported,
            judged=self.lines,
            tested=tested_claims(self.run.claims_folder),
        )
        if (self.gate.incomplete or self.conflicts) and session.exitstatus in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._write()
        if not self.kept and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from resolvent.report.terminal import write_summary

        if self.folder is None or self.gate is None:
            return
        terminalreporter.section("verdicts")
        write_summary(
            terminalreporter,
            list(self.lines.values()),
            unavailable={pair: self.run.unavailable.get(pair[1], "") for pair in sorted(self.unavailable)},
            verbose=terminalreporter.verbosity > 0,
            subjects=self.words,
        )
        for text, colour in self._notes():
            terminalreporter.write_line(text, **{colour: True})
        for name in (HTML_REPORT, REPORT, VERDICTS, PROVENANCE):
            if (self.folder.path / name).is_file():
                terminalreporter.write_line(str(self.folder.path / name))

    @property
    def exploratory(self) -> bool:
        """Whether a verdict on a registered claim was made under other conditions than the registered ones."""
        return any(line.exploratory and claim in self.run.registered for (claim, _), line in self.lines.items())

    def _collected(self, ids: Iterable[str]) -> None:
        """Called by each worker's collection in turn; all are equal."""
        if self.selected:
            return
        ids = list(ids)
        self.selected = {pair for pair in map(pair_of, ids) if pair}
        if self.selected:
            self.folder = self._new_folder()
            shards = sum(node_id.startswith("evidence::") for node_id in ids)
            self.progress.start(shards, in_background=self.config.pluginmanager.has_plugin("dsession"))

    def _new_folder(self) -> RunFolder:
        given = self.run.options.run_dir
        if given is not None:
            return RunFolder(given.resolve())
        return RunFolder.create(self.run.study.runs, now=self._began)

    def _fit(self, report: Any) -> None:
        """Sets the table of criteria anew where it is wider than the terminal, which a worker doesn't know."""
        from resolvent.report.criteria_table import criteria_table
        from resolvent.report.terminal import capabilities

        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or not report.longrepr:
            return
        table = criteria_table(VerdictLine.from_json_line(report.resolvent_verdict), width=capabilities(reporter)[1])
        if isinstance(report.longrepr, tuple):
            report.longrepr = (*report.longrepr[:2], table)
        else:
            report.longrepr = table

    def _keep(self, pair: Pair, json_line: str, file: str) -> None:
        line = VerdictLine.from_json_line(json_line)
        before = self.lines.get(pair)
        if before is None:
            self.lines[pair], self.judged_by[pair] = line, file
            assert self.folder is not None
            # What a full disk swallows here is tried again, and said, at the end.
            with contextlib.suppress(OSError):
                self.folder.append(json_line)
        elif before.to_json_line() != line.to_json_line():
            first, second = before.judgement.verdict, line.judgement.verdict
            other = f"{second} with other metrics" if first == second else second
            before_by = self.judged_by[pair]
            again = f"{first}, then {other}, both by {file}"
            self.conflicts[pair] = again if file == before_by else f"{first} by {before_by}, {other} by {file}"

    def _expected(self) -> set[Pair]:
        """Registered claims × the cohort's subjects to which they apply."""
        return {
            (name, subject)
            for name in self.run.registered
            for subject in self.run.cohort
            if self.run.claim(name).applicable(self.run.subject(subject).attributes())
        }

    def _write(self) -> None:
        from resolvent.report.markdown import markdown_report
        from resolvent.report.provenance import provenance
        from resolvent.report.run_reports import law_of_subjects, write_html
        from resolvent.report.stored_evidence import StoredEvidence
        from resolvent.report.subject_words import subject_words

        assert self.folder is not None
        assert self.gate is not None
        assert self.run.ledger is not None
        facts = provenance(
            self.run.study,
            self.run.subjects,
            chosen=[self.run.subject(name) for name in self.run.chosen],
            ledger=self.run.ledger,
            engine=self.run.engine,
            evidence=self.evidence,
            began=self._began,
            seconds=time.monotonic() - self._clock,
            durations=self.durations,
        )
        facts["command"] = list(self.config.invocation_params.args)
        facts["partial"] = self.gate.partial
        facts["exploratory"] = self.exploratory
        facts["incomplete"] = [list(pair) for pair in self.gate.incomplete]
        facts["conflicts"] = [list(pair) for pair in sorted(self.conflicts)]
        facts["unavailable"] = dict(self.run.unavailable)
        facts["drafts"] = self._drafts()
        facts["outcomes"] = {f"{claim}[{subject}]": line.shown.word for (claim, subject), line in self.lines.items()}
        facts["expected"] = [list(pair) for pair in sorted(self._expected())]
        facts["errors"] = [list(pair) for pair in self.gate.unjudged if pair not in self.unavailable]
        facts["claims"] = self._frozen()
        lines = sorted(self.lines.values(), key=lambda line: line.pair)
        study, subjects = self.run.study, self.run.subjects
        evidence = StoredEvidence(self.run.engine, self.evidence)
        # The verdicts come first: a fault of what is drawn from them must not keep them from the disk.
        try:
            facts["bos_mass_law"] = law_of_subjects(evidence, lines, facts)
        except Exception as error:
            self.problems.append(f"the BOS-mass law was not evaluated: {error!r}")
        self.words = subject_words(subjects, lines, facts)
        try:
            self.folder.finish(lines, facts, markdown_report(study, subjects, lines, facts))
        except OSError as error:
            what = error.filename or self.folder.path
            self.problems.append(
                f"{what}: can't be written ({error.strerror or error}): this run is not kept. Its evidence is; make "
                "room and run again"
            )
            self.kept = False
            return
        try:
            write_html(study, subjects, lines, facts, folder=self.folder.path, evidence=evidence)
        except Exception as error:
            self.problems.append(f"report.html was not made: {error!r} (resolvent report {self.folder.path})")

    def _frozen(self) -> dict[str, dict[str, Any]]:
        """Of each judged claim the frozen hash and the protocol as this run followed it."""
        from resolvent.registry.canonical import claim_hash

        names = sorted({claim for claim, _ in self.lines})
        return {
            name: {
                "sha256": claim_hash(self.run.study.prereg / f"{name}.yaml"),
                "protocol": self.run.protocol(self.run.claim(name)),
            }
            for name in names
        }

    def _drafts(self) -> list[str]:
        """Claims of prereg/ without a ledger line: listed, never counted."""
        files = self.run.study.prereg.glob("*.yaml")
        return sorted(
            file.stem for file in files if file != self.run.study.subjects_file and file.stem not in self.run.registered
        )

    def _notes(self) -> list[tuple[str, str]]:
        assert self.gate is not None
        notes = []
        if self.gate.partial:
            parts = []
            if self.gate.unselected:
                parts.append(f"{len(self.gate.unselected)} registered claim × subject not selected")
            if self.gate.not_run:
                parts.append(f"{len(self.gate.not_run)} not run")
            notes.append((f"PARTIAL: {', '.join(parts)}", "yellow"))
        if self.exploratory:
            notes.append(
                ("EXPLORATORY: made under other conditions than the registered ones; can't be recorded", "yellow")
            )
        for claim, subject in self.gate.incomplete:
            if (claim, subject) not in self.unavailable:
                notes.append((f"INCOMPLETE: no verdict for {claim} on {subject}", "red"))
        for (claim, subject), results in sorted(self.conflicts.items()):
            notes.append((f"ERROR: {claim} on {subject} was judged twice, with different results: {results}", "red"))
        notes += [(problem, "red") for problem in self.problems]
        missing = Counter(subject for _, subject in self.unavailable)
        for name in sorted(missing):
            claims = f"{missing[name]} claims" if missing[name] > 1 else "1 claim"
            notes.append((f"UNAVAILABLE: {self.run.unavailable[name]} (no verdict on {claims})", "red"))
        drafts = self._drafts()
        if drafts:
            names = f": {', '.join(drafts)}" if self.config.option.verbose > 0 else " (-v or report.md names them)"
            notes.append((f"unregistered drafts, not counted: {len(drafts)}{names}", "cyan"))
        return notes
