"""`resolvent …`: each command a thin function over its floor."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from resolvent import __version__
from resolvent.errors import ResolventError

if TYPE_CHECKING:
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
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal's encoding lacks must not end a command
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
    from resolvent.registry import register

    subjects = arguments.subject or None
    entries = register(_study(arguments), arguments.claims, subjects)
    for entry in entries:
        print(f"registered {entry.what}  {entry.sha256[:12]}")
    if not entries:
        print("nothing new: all of it is registered as it stands")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    from resolvent.registry import verify

    found = verify(_study(arguments), tag=arguments.tag)
    for problem in found.problems:
        print(problem)
    print(f"{len(found.claims)} claims and {len(found.subjects)} subjects registered; ledger of {found.lines} lines")
    print(f"head {found.head}\nanchor: {found.anchor}")
    if found.drafts:
        print(f"unregistered drafts: {', '.join(found.drafts)}")
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
    for word, pairs in (("recorded", done.new), ("replaced", done.replaced), ("left out", done.left_out)):
        for claim, subject in pairs:
            print(f"{word} {claim} on {subject}")
    print(f"{len(done.new)} recorded, {len(done.replaced)} replaced, {len(done.unchanged)} as recorded before")
    return 0


def subjects(arguments: argparse.Namespace) -> int:
    from resolvent.models.subjects import load_subjects

    study = _study(arguments)
    found = load_subjects(study)
    members = {name: [cohort for cohort, names in found.cohorts.items() if name in names] for name in found.subjects}
    for name, subject in found.subjects.items():
        reason = found.available(study, subject)
        facts = ", ".join(f"{key} {value}" for key, value in subject.attributes().items())
        print(f"{name}  [{', '.join(members[name]) or ('local' if not subject.frozen else 'no cohort')}]")
        print(f"    {facts}, texts {subject.corpus}" + (f"; {subject.note}" if subject.note else ""))
        print(f"    {'available' if reason is None else reason}")
    return 0


def plan(arguments: argparse.Namespace) -> int:
    """Pytest collects, so that -k, files and --subject mean here what they mean in a run."""
    study = _study(arguments)
    command = [sys.executable, "-m", "pytest", "--resolvent-plan", "-q", "--no-header", *arguments.rest]
    return subprocess.run(command, cwd=study.root, check=False).returncode


def fetch(arguments: argparse.Namespace) -> int:
    from resolvent.models.fetch import fetch

    fetch(_study(arguments), arguments.names or None)
    return 0


def battery(arguments: argparse.Namespace) -> int:
    from resolvent.report.matrix_table import check_output, matrix_table, text_table, write_table

    if arguments.output is not None:
        check_output(arguments.output)
    with _progress_bar("matrices") as progress:
        columns = matrix_table(arguments.file, arrays=arguments.array or (), progress=progress)
    if arguments.output is None:
        print(text_table(columns, width=shutil.get_terminal_size((1000, 24)).columns))
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
    print(f"{study.evidence}: {len(items)} shards, {sum(item.bytes for item in items) / 2**20:.1f} MiB")
    for item in items:
        age = (time.time() - item.created) / 86400
        use = "needed" if item.needed else "remains" if item.kind == "remains" else "unneeded"
        print(f"  {item.bytes / 2**20:9.2f} MiB  {age:6.1f} days  {item.seconds:7.1f} s  {use:8}  {item.id}")
    superfluous = unneeded(items)
    size = sum(item.bytes for item in superfluous) / 2**20
    if arguments.delete:
        freed = delete(Store(study.evidence), superfluous)
        print(f"deleted {len(superfluous)} shards that no claim needs, {freed / 2**20:.1f} MiB")
    elif superfluous:
        print(f"{len(superfluous)} shards ({size:.1f} MiB) are needed by no claim as it stands: --delete removes them")
    return 0


def report(arguments: argparse.Namespace) -> int:
    from resolvent.models.subjects import load_subjects
    from resolvent.report.markdown import markdown_report
    from resolvent.report.run_folder import REPORT, read_run
    from resolvent.report.terminal import Printer, write_summary

    study = _study(arguments)
    run = read_run(arguments.run if arguments.run is not None else study.runs / "latest")
    write_summary(Printer(), run.lines, unavailable={}, verbose=arguments.verbose)
    text = markdown_report(study, load_subjects(study), run.lines, run.provenance)
    try:
        (run.path / REPORT).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResolventError(f"{run.path / REPORT}: can't be written: {error.strerror}") from None
    print(run.path / REPORT)
    return 0


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
            function.__name__, help=text, description=text, parents=[in_study] if of_study else []
        )
        added.set_defaults(command=function)
        return added

    added = command(register, "freeze claims, and the subjects with their texts and seed, in the LEDGER")
    added.add_argument("claims", nargs="*", metavar="CLAIM")
    added.add_argument(
        "--subject", action="append", metavar="NAME", help="only this subject (repeatable; default: all)"
    )
    added = command(verify, "compare everything frozen with the LEDGER")
    added.add_argument("--tag", help="a signed git tag that anchors the ledger's head")
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
    added = command(report, "show a run's verdicts again and rewrite its report.md")
    added.add_argument("run", type=Path, nargs="?", metavar="RUN", help="its folder (default: runs/latest)")
    added.add_argument("-v", "--verbose", action="store_true", help="a row a criterion")
    return parser


class _BatteryHelp(argparse.RawDescriptionHelpFormatter):
    """Adds what each column is: only where help is asked for, because it loads numba."""

    def format_help(self) -> str:
        from resolvent.operators import MEANINGS

        width = max(map(len, MEANINGS))
        columns = "\n".join(f"  {name:{width}}  {meaning}" for name, meaning in MEANINGS.items())
        return f"{super().format_help()}\ncolumns:\n{columns}\n"


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
