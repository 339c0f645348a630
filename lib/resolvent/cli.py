"""`resolvent …`: each command a thin function over its floor."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from resolvent import __version__
from resolvent.encodings import show_what_it_can
from resolvent.errors import ResolventError

if TYPE_CHECKING:
    from resolvent.models.subjects import StudySubjects, Subject
    from resolvent.report.run_folder import FinishedRun
    from resolvent.report.stored_evidence import StoredEvidence
    from resolvent.study import Study

Command = Callable[[argparse.Namespace], int]

MISTAKE = 2
"""Exit status for a mistake of the user's, shown as one message."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit status. A ResolventError is shown as its message, without a traceback."""
    arguments, rest = _parser().parse_known_args(argv)
    if rest and arguments.command is not plan:
        _parser().error(f"unrecognized arguments: {' '.join(rest)}")
    arguments.rest = rest
    for stream in (sys.stdout, sys.stderr):
        show_what_it_can(stream)
    try:
        return int(arguments.command(arguments))
    except ResolventError as error:
        print(f"resolvent: {error}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone (`| head`); Python would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def register(arguments: argparse.Namespace) -> int:
    from resolvent.registry import Ledger, register

    study = _study(arguments)
    if not arguments.unchecked:
        registered = Ledger.load(study).registered_claims()
        for claim in arguments.claims:
            if claim not in registered:
                _rehearsed(study, claim)
    subjects = arguments.subject or None
    entries = register(study, arguments.claims, subjects)
    for entry in entries:
        print(f"registered {entry.what}  {entry.sha256[:12]}")
    if not entries:
        what = (
            "all of it is registered as it stands" if arguments.claims else "the subjects are registered as they stand"
        )
        print(f"nothing new: {what}")
    if not arguments.claims:
        print("no claim was named: resolvent register CLAIM … freezes claims (resolvent verify -v lists the drafts)")
    return 0


def _rehearsed(study: Study, claim: str) -> None:
    """Raises ResolventError where a claim may not be frozen: what planted data show must be what it says."""
    from resolvent.pytest_plugin.rehearsal import planted_file, rehearse

    if not planted_file(study, claim).is_file():
        raise ResolventError(
            f"{planted_file(study, claim)}: missing, so nobody knows whether '{claim}' would find its effect. Write "
            "effect(rng) and null(rng) (resolvent new-claim shows how), or freeze it --unchecked"
        )
    problems = rehearse(study, claim).problems
    if problems:
        raise ResolventError(f"'{claim}' is not frozen: {'; '.join(problems)} (resolvent rehearse {claim})")


def rehearse(arguments: argparse.Namespace) -> int:
    from resolvent.pytest_plugin.rehearsal import rehearse
    from resolvent.report.criteria_table import criteria_table

    done = rehearse(_study(arguments), arguments.claim)
    for title, line in (("effect planted", done.effect), ("nothing planted", done.null)):
        print(f"{title}: {line.judgement.verdict}\n{criteria_table(line)}\n")
    for problem in done.problems:
        print(f"NOT READY: {problem}")
    if not done.problems:
        print(f"ready: resolvent register {arguments.claim} freezes it")
    return 1 if done.problems else 0


def new_claim(arguments: argparse.Namespace) -> int:
    from resolvent.pytest_plugin.new_claim import new_claim

    for path in new_claim(_study(arguments), arguments.claim):
        print(path)
    print(
        f"an unregistered draft; now: resolvent rehearse {arguments.claim}, and once it says what you mean: "
        f"resolvent register {arguments.claim}"
    )
    return 0


def verify(arguments: argparse.Namespace) -> int:
    from resolvent.registry import verify

    found = verify(_study(arguments), tag=arguments.tag)
    for problem in found.problems:
        print(problem)
    print(f"{len(found.claims)} claims and {len(found.subjects)} subjects registered; ledger of {found.lines} lines")
    print(f"head {found.head}\nanchor: {found.anchor}")
    if found.drafts:
        print(f"unregistered drafts: {len(found.drafts)}")
        for draft in found.drafts if arguments.verbose else ():
            print(f"    {draft}")
    print(f"FAILED: {len(found.problems)} problems" if found.problems else "verified")
    return 1 if found.problems else 0


def amend(arguments: argparse.Namespace) -> int:
    from resolvent.registry import amend

    entry = amend(_study(arguments), arguments.claim, arguments.file, arguments.reason)
    print(f"amended {entry.what}  {entry.sha256[:12]}; its verdicts are post hoc from now on")
    return 0


def record(arguments: argparse.Namespace) -> int:
    from resolvent.registry import record

    done = record(_study(arguments), arguments.run, replace=arguments.replace, reason=arguments.reason)
    for word, pairs in (("recorded", done.new), ("replaced", done.replaced)):
        for claim, subject in pairs:
            print(f"{word} {claim} on {subject}")
    for (claim, subject), why in done.left_out.items():
        print(f"left out {claim} on {subject}: {why}")
    print(f"{len(done.new)} recorded, {len(done.replaced)} replaced, {len(done.unchanged)} as recorded before")
    return 0


def subjects(arguments: argparse.Namespace) -> int:
    from resolvent.models.subjects import load_subjects
    from resolvent.pytest_plugin.availability import why_unavailable
    from resolvent.report.subject_words import figure_words

    study = _study(arguments)
    found = load_subjects(study)
    law = _latest_law(study)
    members = {name: [cohort for cohort, names in found.cohorts.items() if name in names] for name in found.subjects}
    for name, subject in found.subjects.items():
        reason = why_unavailable(study, found, subject)
        facts = ", ".join(f"{key} {value}" for key, value in subject.attributes().items())
        print(f"{name}  [{', '.join(members[name]) or ('local' if not subject.frozen else 'no cohort')}]")
        print(f"    {figure_words(study, subject, law.get(name)).partition(': ')[2]}")
        print(f"    {facts}, texts {subject.corpus}")
        size = subject.weights_on_disk(study)
        print(f"    from {subject.origin()}" + (f", {size / 2**20:,.1f} MiB of weights" if size else ""))
        print(f"    {'available' if reason is None else reason}")
    for name, reason in found.broken.items():
        print(f"{name}  [local]\n    {reason}")
    return 0


def plan(arguments: argparse.Namespace) -> int:
    """Pytest collects, so that -k, files and --subject mean here what they mean in a run."""
    study, here = _study(arguments), Path.cwd()
    command = [sys.executable, "-m", "pytest", "--resolvent-plan", "-q", "--no-header", *arguments.rest]
    if not _within(here, study.root) and not any(_within(here / rest, study.root) for rest in arguments.rest):
        command.append(str(study.root / "claims"))  # pytest finds nothing of a study that it doesn't stand in
    return subprocess.run(command, check=False).returncode


def _within(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder)


def fetch(arguments: argparse.Namespace) -> int:
    from resolvent.models.fetch import fetch

    fetch(_study(arguments), arguments.names or None)
    return 0


def train(arguments: argparse.Namespace) -> int:
    from resolvent.models.zoo.command import train_family

    folder = arguments.folder or _study(arguments).root / ".training"
    with _progress_bar("steps") as progress:
        train_family(
            arguments.family,
            folder,
            output=arguments.output,
            threads=arguments.threads,
            device=arguments.device,
            progress=progress,
        )
    return 0


def battery(arguments: argparse.Namespace) -> int:
    from resolvent.report.matrix_table import check_output, matrix_table, text_table, write_table

    if arguments.output is not None:
        check_output(arguments.output)
    with _progress_bar("matrices") as progress:
        columns = matrix_table(arguments.file, arrays=arguments.array or (), progress=progress)
    if arguments.output is None:
        narrow = sys.stdout.isatty() or "COLUMNS" in os.environ
        print(text_table(columns, width=shutil.get_terminal_size().columns if narrow else sys.maxsize))
    else:
        write_table(arguments.output, columns)
        print(f"{arguments.output}: {len(columns['name'])} matrices")
    return 0


def evidence(arguments: argparse.Namespace) -> int:
    import time

    from resolvent.evidence.inventory import delete, inventory, unneeded
    from resolvent.evidence.store import Store
    from resolvent.models.subjects import load_subjects
    from resolvent.pytest_plugin.needed import needed_keys

    study = _study(arguments)
    items = inventory(Store(study.evidence), needed_keys(study, load_subjects(study).subjects))
    complete, size = sum(item.kind == "complete" for item in items), sum(item.bytes for item in items) / 2**20
    print(f"{study.evidence}: {complete} shards, {size:.1f} MiB")
    for item in items:
        age = (time.time() - item.created) / 86400
        use = "needed" if item.needed else "unneeded" if item.kind == "complete" else item.kind
        print(f"  {item.bytes / 2**20:9.2f} MiB  {age:6.1f} days  {item.seconds:7.1f} s  {use:11}  {item.id}")
    superfluous = unneeded(items)
    size = sum(item.bytes for item in superfluous) / 2**20
    shards = sum(item.kind == "complete" for item in superfluous)
    parts = [f"{shards} shards that no claim needs as it stands"] if shards else []
    if len(superfluous) > shards:
        parts.append(f"remains of {len(superfluous) - shards} others")
    what = " and ".join(parts) or "0 shards"
    if arguments.delete:
        freed = delete(Store(study.evidence), superfluous)
        print(f"deleted {what}, {freed / 2**20:.1f} MiB")
    elif superfluous:
        print(f"--delete removes {what} ({size:.1f} MiB)")
    return 0


def report(arguments: argparse.Namespace) -> int:
    from resolvent.models.subjects import load_subjects
    from resolvent.report.markdown import markdown_report
    from resolvent.report.run_folder import REPORT, read_run, replace_text
    from resolvent.report.run_reports import write_html
    from resolvent.report.subject_words import subject_words
    from resolvent.report.terminal import Printer, write_summary

    study = _study(arguments)
    subjects = load_subjects(study)
    run = read_run(arguments.run if arguments.run is not None else study.runs / "latest")
    words = subject_words(subjects, run.lines, run.provenance)
    write_summary(Printer(), run.lines, unavailable={}, verbose=arguments.verbose, subjects=words)
    try:
        replace_text(run.path / REPORT, markdown_report(study, subjects, run.lines, run.provenance))
        page = write_html(
            study, subjects, run.lines, run.provenance, folder=run.path, evidence=_evidence_of(study, subjects, run)
        )
    except OSError as error:
        raise ResolventError(f"{run.path}: can't be written: {error.strerror}") from None
    print(run.path / REPORT)
    print(page)
    return 0


def compare(arguments: argparse.Namespace) -> int:
    from resolvent.models.subjects import load_subjects
    from resolvent.report.comparison import compare_runs
    from resolvent.report.comparison_text import write_comparison
    from resolvent.report.html.render import comparison_html
    from resolvent.report.run_folder import read_run, replace_text
    from resolvent.report.subject_words import subject_words
    from resolvent.report.terminal import Printer

    study = _study(arguments)
    first, second = (read_run(_run_folder(study, run)) for run in (arguments.first, arguments.second))
    found = compare_runs(first, second, tuple(arguments.subjects) if arguments.subjects else None)
    subjects = load_subjects(study)
    compared = {name for change in found.verdicts for name in change.subjects}
    known = {
        words.name: words
        for run in (first, second)
        for words in subject_words(subjects, run.lines, run.provenance)
        if words.name in compared
    }
    words = tuple(known.values())
    write_comparison(Printer(), found, words)
    if arguments.output is not None:
        try:
            replace_text(arguments.output, comparison_html(found, words))
        except OSError as error:
            raise ResolventError(f"{arguments.output}: can't be written: {error.strerror}") from None
        print(arguments.output)
    return 1 if found.flips else 0


def show(arguments: argparse.Namespace) -> int:
    from resolvent.models.subjects import load_subjects
    from resolvent.registry import load_claims
    from resolvent.report.claim_text import claim_text

    study = _study(arguments)
    claims = load_claims(study)
    if arguments.claim not in claims:
        raise ResolventError(f"no claim '{arguments.claim}'; known are {', '.join(claims)}")
    print(claim_text(study, load_subjects(study), claims[arguments.claim], _latest_law(study)))
    return 0


def figure(arguments: argparse.Namespace) -> int:
    from resolvent.report.figures.named import DATA_FIGURES, SUBJECT_FIGURES, data_panels
    from resolvent.report.figures.panel import check_figure_path, figure_of, write_figure

    known = (*SUBJECT_FIGURES, *DATA_FIGURES)
    if arguments.name not in known:
        raise ResolventError(f"no figure '{arguments.name}'; known are {', '.join(known)}")
    check_figure_path(arguments.output)
    if arguments.name in DATA_FIGURES:
        if arguments.data is None:
            raise ResolventError(f"the figure '{arguments.name}' is drawn from a file: name it with --data FILE.json")
        write_figure(figure_of(data_panels(arguments.name, arguments.data)), arguments.output)
    else:
        _subject_figure(arguments)
    print(arguments.output)
    return 0


def _subject_figure(arguments: argparse.Namespace) -> None:
    """Computes what the store lacks, then draws."""
    from resolvent.evidence.engine import Engine
    from resolvent.evidence.plan import plan as evidence_plan
    from resolvent.models.devices import chosen_device
    from resolvent.models.subjects import load_subjects
    from resolvent.report.figures.from_evidence import Head
    from resolvent.report.figures.named import SUBJECT_FIGURES, Request, needed_shards
    from resolvent.report.figures.panel import figure_of, write_figure
    from resolvent.report.law_numbers import law_numbers
    from resolvent.report.stored_evidence import StoredEvidence
    from resolvent.report.subject_words import figure_words

    study = _study(arguments)
    subjects, subject = _named_subject(study, load_subjects(study), arguments.subject)
    chosen = SUBJECT_FIGURES[arguments.name]
    request = Request(
        texts=arguments.texts,
        length=arguments.length,
        null=arguments.null,
        heads=tuple(Head.parse(head, subject) for head in arguments.head),
        text=arguments.text,
    )
    engine = Engine(study, subjects, run_id=f"figure-{os.getpid()}", device=chosen_device(arguments.device))
    shards = needed_shards(chosen, subject, subjects, request)
    missing = len(evidence_plan(engine, shards).missing)
    if missing:
        reason = subjects.available(study, subject)
        if reason is not None:
            raise ResolventError(reason)
        print(f"computing {missing} missing shards of evidence", file=sys.stderr)
        engine.require(shards)
    evidence = StoredEvidence(engine)
    protocol = chosen.protocol(request)
    panels = chosen.draw(evidence, subject, protocol, request)
    footnote = figure_words(study, subject, law_numbers(evidence, subject, [protocol]))
    drawn = figure_of(panels, title=f"{chosen.title}: {subject.name}", footnote=footnote)
    write_figure(drawn, arguments.output)


def _named_subject(study: Study, subjects: StudySubjects, name: str) -> tuple[StudySubjects, Subject]:
    """A subject of the study, or a directory, which is then one of them."""
    from resolvent.models.subjects import local_subject

    if name not in subjects.subjects and Path(name).is_dir():
        subject = local_subject(Path(name), cache=study.fetched / "local_models.json")
        return subjects.with_subject(subject), subject
    return subjects, subjects.subject(name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="resolvent", description="A pre-registered study of attention dynamics.")
    parser.add_argument("--version", action="version", version=f"resolvent {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    in_study = argparse.ArgumentParser(add_help=False)
    in_study.add_argument("--study", type=Path, metavar="DIR", help="the study (default: found by walking up)")

    def command(
        function: Callable[[argparse.Namespace], int], text: str, *, of_study: bool = True
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(
            function.__name__.replace("_", "-"), help=text, description=text, parents=[in_study] if of_study else []
        )
        added.set_defaults(command=function)
        return added

    added = command(register, "freeze the named claims, and the subjects with their texts and seed, in the LEDGER")
    added.add_argument("claims", nargs="*", metavar="CLAIM", help="named one by one; none: the subjects alone")
    added.add_argument(
        "--subject", action="append", metavar="NAME", help="only this subject (repeatable; default: all)"
    )
    added.add_argument(
        "--unchecked", action="store_true", help="freeze claims that no planted example has been tried on"
    )
    added = command(new_claim, "write a claim, its test and its planted examples, to be rewritten; registers nothing")
    added.add_argument("claim", metavar="NAME")
    added = command(rehearse, "try a claim on its planted examples: with the effect, and without")
    added.add_argument("claim", metavar="CLAIM")
    added = command(verify, "compare everything frozen with the LEDGER")
    added.add_argument("--tag", help="a signed git tag that anchors the ledger's head")
    added.add_argument("-v", "--verbose", action="store_true", help="name the unregistered drafts")
    added = command(amend, "replace a registered claim, with a reason; its verdicts are post hoc afterwards")
    added.add_argument("claim", metavar="CLAIM")
    added.add_argument("file", type=Path, metavar="FILE")
    added.add_argument("--reason", required=True)
    added = command(record, "accept the verdicts of a full run as outcomes")
    added.add_argument("run", type=Path, metavar="RUN", help="its folder, runs/<timestamp> or runs/latest")
    added.add_argument("--replace", action="store_true", help="let verdicts replace other recorded ones")
    added.add_argument("--reason", default="", help="why, for the LEDGER; needed with --replace")
    command(subjects, "list the models of the study")
    command(plan, "say what a run would compute; takes pytest's own arguments (-k, files, --subject=…, -n)")
    added = command(fetch, "bring models and texts: the only use of the network")
    added.add_argument("names", nargs="*", metavar="NAME", help="subjects, texts or cohorts (default: embedded)")
    added = command(train, "train a mini family anew, or go on with its training: hours on a CPU")
    added.add_argument("family", metavar="NAME", help="mini-gpt2, mini-neox or mini-llama")
    added.add_argument("--folder", type=Path, metavar="DIR", help="corpus and runs (default: .training of the study)")
    added.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="the finished family (default: NAME/family in that folder)"
    )
    added.add_argument("--threads", type=int, default=1, metavar="N", help="part of what determines the weights")
    added.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    added = command(battery, "measure your own causal attention matrices", of_study=False)
    added.add_argument("file", type=Path, metavar="FILE", help=".npy or .npz; arrays of shape (..., n, n)")
    added.add_argument(
        "--array", action="append", metavar="NAME", help="only this array of an .npz (repeatable; default: all)"
    )
    added.formatter_class = _BatteryHelp
    added.add_argument(
        "-o", "--output", type=Path, metavar="TABLE", help=".parquet, .csv or .json; default: the terminal"
    )
    added = command(evidence, "list the evidence in the store, with size, age and use")
    added.add_argument("--delete", action="store_true", help="delete what no claim needs as it stands")
    added = command(report, "show a run's verdicts again and rewrite its report.md and report.html")
    added.add_argument("run", type=Path, nargs="?", metavar="RUN", help="its folder (default: runs/latest)")
    added.add_argument("-v", "--verbose", action="store_true", help="a row a criterion")
    added = command(figure, "draw a figure of a subject from the evidence (computing what is missing), or from a file")
    added.add_argument(
        "name",
        metavar="NAME",
        help="signed-census, bos-mass-law, transient, portrait, depth, "
        "state-change, attention; from --data: trajectories, clamping, contest",
    )
    added.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=".svg, .png or .pdf")
    added.add_argument("--subject", default="smollm2-135m", metavar="NAME|DIR", help="default: %(default)s")
    added.add_argument("--head", action="append", default=[], metavar="L.H", help="layer and head from 0 (repeatable)")
    added.add_argument("--text", type=int, default=0, metavar="N", help="index of the text, for single maps")
    added.add_argument("--texts", type=int, default=32, metavar="N", help="number of texts (default: %(default)s)")
    added.add_argument("--length", type=int, default=128, metavar="N", help="positions (default: %(default)s)")
    added.add_argument("--null", default="row_permutation", metavar="NAME", help="or bos_preserving, dirichlet")
    added.add_argument("--device", default="auto", metavar="NAME", help="where the model runs (default: auto)")
    added.add_argument("--data", type=Path, metavar="FILE.json", help="of a figure that is drawn from a file")
    added = command(show, "print a claim: hypothesis, criteria, what was published, what is recorded")
    added.add_argument("claim", metavar="CLAIM")
    added = command(compare, "say what changed between two runs, or two models of them; exit 1 on a flip")
    added.add_argument("first", type=Path, metavar="RUN", help="its folder, or its name in runs/")
    added.add_argument("second", type=Path, metavar="RUN")
    added.add_argument(
        "--subjects",
        nargs=2,
        metavar="NAME",
        help="compare a subject of the first run with one of the second (default: each with itself)",
    )
    added.add_argument("-o", "--output", type=Path, metavar="FILE.html", help="write the comparison as a page too")
    return parser


class _BatteryHelp(argparse.RawDescriptionHelpFormatter):
    """Adds what each column is: only where help is asked for, because it loads numba."""

    def format_help(self) -> str:
        from resolvent.operators import MEANINGS

        width = max(map(len, MEANINGS))
        columns = "\n".join(f"  {name:{width}}  {meaning}" for name, meaning in MEANINGS.items())
        return f"{super().format_help()}\ncolumns:\n{columns}\n"


def _evidence_of(study: Study, subjects: StudySubjects, run: FinishedRun) -> StoredEvidence:
    """The evidence that a run rested on, as far as the store has it and the code still reads it so."""
    from resolvent.evidence.engine import Engine
    from resolvent.report.stored_evidence import StoredEvidence, run_keys

    engine = Engine(study, subjects, run_id="report", device=str(run.provenance.get("device", "cpu")))
    return StoredEvidence(engine, run_keys(run.provenance))


def _run_folder(study: Study, run: Path) -> Path:
    """A run's folder: as a path, or as the name of one in the study's runs/."""
    return run if run.is_dir() or not (study.runs / run).is_dir() else study.runs / run


def _latest_law(study: Study) -> dict[str, dict[str, float]]:
    """By subject, what the BOS-mass law said of it in the latest run; empty where there is none."""
    from resolvent.report.run_folder import read_run

    try:
        return dict(read_run(study.runs / "latest").provenance.get("bos_mass_law", {}))
    except ResolventError:
        return {}


def _study(arguments: argparse.Namespace) -> Study:
    from resolvent.study import find_study, open_study

    return open_study(arguments.study) if arguments.study is not None else find_study(Path.cwd())


@contextlib.contextmanager
def _progress_bar(unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


if __name__ == "__main__":
    sys.exit(main())
