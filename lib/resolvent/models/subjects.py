"""The models of a study, from prereg/subjects.yaml and subjects.local.yaml. Imports neither torch nor transformers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from resolvent.errors import ResolventError
from resolvent.models.families import architecture
from resolvent.models.zoo import packaged
from resolvent.strict_yaml import read_yaml
from resolvent.texts.corpora import Corpus, parse_corpus
from resolvent.texts.entries import EntryError, Revision, Sha256, Wheel, Word, exactly_one, typed

if TYPE_CHECKING:
    from resolvent.study import Study

LOCAL_CORPUS = "hansard"
"""Corpus of a user's own model whose entry names none."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WEIGHTS = (".safetensors", ".bin")
_TOKENIZER_FILES = (".json", ".txt", ".model", ".tiktoken", ".jinja")

Count = Annotated[int, msgspec.Meta(ge=1)]
NonNegative = Annotated[int, msgspec.Meta(ge=0)]


class HubModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model on the hub, at one commit."""

    model: Word
    revision: Revision


class Series(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Checkpoints of one training run: `revision` with the step in place of {}."""

    revision: Annotated[str, msgspec.Meta(pattern=r"\{\}")]
    steps: Annotated[tuple[NonNegative, ...], msgspec.Meta(min_length=1)]
    tokens_per_step: Count

    def name(self, step: int) -> str:
        """The revision of a step, and the name of its folder."""
        return self.revision.replace("{}", str(step))


class ZooModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A family whose weights come with this package.

    step    of the checkpoint that is the model
    sha256  of the manifest that lists size and hash of every file of the family
    """

    family: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    step: NonNegative
    sha256: Sha256


class SubjectEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An entry under `subjects`: exactly one of wheel, hub, zoo, local. Only a local one may leave the rest out.

    weights  words on how the weights differ from the base model's, shown in every report
    series   its checkpoints, ascending; the last is the model itself
    """

    wheel: Wheel | None = None
    hub: HubModel | None = None
    zoo: ZooModel | None = None
    local: str | None = None
    weights: dict[str, str] | None = None
    bos: NonNegative | None = None
    corpus: str | None = None
    trained: bool | None = None
    norm: Literal["layernorm", "rmsnorm"] | None = None
    positions: Literal["learned", "rope", "rope_partial"] | None = None
    layers: Count | None = None
    heads: Count | None = None
    checkpoints: NonNegative | None = None
    series: Series | None = None


class _SubjectsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """prereg/subjects.yaml; texts and subjects are typed one by one, so that errors name the entry."""

    seed: NonNegative
    texts: dict[str, Any]
    cohorts: dict[str, tuple[str, ...]]
    subjects: dict[str, Any]


class _LocalSubjectsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """subjects.local.yaml."""

    subjects: dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """One model of a study.

    entry        as written, or as read off a local directory
    bos          the id put before every text
    corpus       name of its evaluation corpus
    checkpoints  how many checkpoints of its training there are, 0 if none
    frozen       True for prereg/subjects.yaml; verdicts on others are EXPLORATORY
    note         how its weights differ from the base model's, to be said in every report; may be empty
    directory    of a local model
    cache        file that remembers the content hashes of local models by size and time; None: hash each time
    """

    name: str
    entry: Mapping[str, Any] = field(hash=False)
    source: Literal["wheel", "hub", "zoo", "local"]
    bos: int
    corpus: str
    trained: bool
    norm: str
    positions: str
    layers: int
    heads: int
    checkpoints: int = 0
    frozen: bool = True
    note: str = ""
    wheel: Wheel | None = None
    hub: HubModel | None = None
    zoo: ZooModel | None = None
    series: Series | None = None
    directory: Path | None = None
    cache: Path | None = field(default=None, compare=False)

    def attributes(self) -> dict[str, bool | int | str]:
        """What `applies_to` and `when` of a claim may name."""
        return {
            "trained": self.trained,
            "norm": self.norm,
            "positions": self.positions,
            "layers": self.layers,
            "heads": self.heads,
            "checkpoints": self.checkpoints,
        }

    def identity(self) -> dict[str, Any]:
        """What determines the model's output, JSON-able: the entry without its corpus, or a hash of local files.

        Raises ResolventError where a local directory cannot be read.
        """
        if self.directory is None:
            return {key: value for key, value in self.entry.items() if key != "corpus"}
        found: dict[str, Any] = {"local": content_hash(self.directory, cache=self.cache), "bos": self.bos}
        if self.series is not None:
            found["series"] = {
                str(step): content_hash(self.directory / self.series.name(step), cache=self.cache)
                for step in self.series.steps[:-1]
            }
        return found

    def origin(self) -> str:
        """Where the weights come from, in words."""
        if self.wheel is not None:
            return f"the wheel {self.wheel.name} {self.wheel.version}"
        if self.hub is not None:
            return f"the hub: {self.hub.model} at {self.hub.revision[:7]}"
        if self.zoo is not None:
            return f"this package: {self.zoo.family}, trained by the project, step {self.zoo.step}"
        return f"the directory {self.directory}"

    def weights_on_disk(self, study: Study) -> int:
        """Bytes of the weight files that are there, of all its checkpoints; 0 where there are none."""
        folders = [self.folder(study)]
        if self.series is not None:
            folders += [self.checkpoint_folder(study, step) for step in self.series.steps[:-1]]
        return sum(
            file.stat().st_size
            for folder in folders
            if folder.is_dir()
            for file in folder.iterdir()
            if file.suffix in _WEIGHTS
        )

    def folder(self, study: Study) -> Path:
        """Where the model lies in Hugging Face format."""
        if self.zoo is not None:
            return packaged.step_folder(self.zoo.family, self.zoo.step)
        return self.directory if self.directory is not None else study.fetched / "models" / self.name

    def checkpoint_folder(self, study: Study, step: int) -> Path:
        """Where the checkpoint of a step lies; that of the last step is the model itself.

        Raises ResolventError where the series has no such step.
        """
        series = self.series
        if series is None or step not in series.steps:
            known = ", ".join(map(str, series.steps)) if series else "none"
            raise ResolventError(f"{self.name}: no checkpoint of step {step}; its series has: {known}")
        if step == series.steps[-1]:
            return self.folder(study)
        if self.zoo is not None:
            return packaged.step_folder(self.zoo.family, step)
        parent = self.directory if self.directory is not None else study.fetched / "checkpoints" / self.name
        return parent / series.name(step)

    def available(self, study: Study) -> str | None:
        """None where the model and its checkpoints can be loaded, else why not and what to do.

        Reads sizes, not contents.
        """
        missing = self.model_available(study)
        steps = self.series.steps[:-1] if self.series is not None and missing is None else ()
        for step in steps:
            missing = missing or self._checkpoint_available(study, step)
        return missing

    def _checkpoint_available(self, study: Study, step: int) -> str | None:
        if self.zoo is not None:
            return packaged.problem(self.zoo.family, self.zoo.sha256, step=step)
        folder = self.checkpoint_folder(study, step)
        if (folder / "config.json").is_file():
            return None
        todo = f"; run: resolvent fetch {self.name}" if self.directory is None else ""
        return f"{self.name}: its checkpoint of step {step} is not in {folder}{todo}"

    def model_available(self, study: Study) -> str | None:
        """`available` of the model alone, whatever checkpoints it has."""
        folder = self.folder(study)
        if self.zoo is not None:
            return packaged.problem(self.zoo.family, self.zoo.sha256, step=self.zoo.step)
        if self.directory is not None:
            return None if (folder / "config.json").is_file() else f"{self.name}: {folder} has no config.json"
        command = f"run: resolvent fetch {self.name}"
        try:
            receipt = json.loads((folder / RECEIPT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return f"model '{self.name}' is not fetched; {command}"
        if receipt.get("source") != source_of(self):
            return f"model '{self.name}' was fetched from another source than its entry now names; {command}"
        for name, size in receipt["files"].items():
            if not (folder / name).is_file() or (folder / name).stat().st_size != size:
                return f"model '{self.name}': {name} is missing or has another size than when fetched; {command}"
        return None


RECEIPT = "receipt.json"
"""Written last into a fetched model's folder: its source and the sizes of its files."""


def source_of(subject: Subject) -> dict[str, Any]:
    """The pinned source of a fetched model, as its receipt records it."""
    source = subject.wheel or subject.hub
    return {} if source is None else {subject.source: msgspec.to_builtins(source)}


@dataclass(frozen=True)
class StudySubjects:
    """The parsed files.

    seed      of every keyed generator
    texts     corpora and probes by name
    cohorts   names of subjects by cohort; may name only subjects of prereg/subjects.yaml
    subjects  by name, those of subjects.local.yaml with frozen=False
    broken    entries of subjects.local.yaml that can't be used as they stand, by name: why; they stop nobody else
    """

    seed: int
    texts: Mapping[str, Corpus]
    cohorts: Mapping[str, tuple[str, ...]]
    subjects: Mapping[str, Subject]
    broken: Mapping[str, str] = field(default_factory=dict)

    def subject(self, name: str) -> Subject:
        """Raises ResolventError that says why an entry is broken, or lists the known names."""
        if name in self.broken:
            raise ResolventError(self.broken[name])
        if name not in self.subjects:
            raise ResolventError(f"no subject '{name}'; known are {', '.join(self.subjects)}")
        return self.subjects[name]

    def cohort(self, name: str) -> tuple[Subject, ...]:
        """Raises ResolventError that lists the known names."""
        if name not in self.cohorts:
            raise ResolventError(f"no cohort '{name}'; known are {', '.join(self.cohorts)}")
        return tuple(self.subjects[member] for member in self.cohorts[name])

    def corpus_of(self, subject: Subject) -> Corpus:
        """The evaluation corpus of a subject."""
        return self.texts[subject.corpus]

    def available(self, study: Study, subject: Subject) -> str | None:
        """None where model and corpus of a subject are there, else why not and what to do."""
        return subject.available(study) or self.corpus_of(subject).available(study)

    def with_subject(self, subject: Subject) -> StudySubjects:
        """These and one more. Raises ResolventError where the name is taken or the corpus unknown."""
        if subject.name in self.subjects:
            raise ResolventError(
                f"the name '{subject.name}' is taken by another subject; give the directory another name, "
                "or an entry of its own in subjects.local.yaml"
            )
        if subject.corpus not in self.texts:
            raise ResolventError(f"{subject.name}: no corpus '{subject.corpus}'; known are {', '.join(self.texts)}")
        return replace(self, subjects={**self.subjects, subject.name: subject})


def load_subjects(study: Study) -> StudySubjects:
    """The subjects of a study, schema-checked.

    Raises EntryError or YamlError that names the file, the path in it, what was found and what is allowed.
    """
    path = study.subjects_file
    parsed = typed(read_yaml(path), _SubjectsFile, source=path, where="")
    texts = {name: parse_corpus(name, value, source=path) for name, value in parsed.texts.items()}
    cache = study.fetched / "local_models.json"
    subjects = {
        name: _subject(name, value, texts=texts, source=path, frozen=True, cache=cache)
        for name, value in parsed.subjects.items()
    }
    for cohort, members in parsed.cohorts.items():
        for member in members:
            if member not in subjects:
                raise EntryError(
                    f"{path}: cohorts.{cohort}: no subject '{member}'; known are {', '.join(subjects) or 'none'}"
                )
    everything = StudySubjects(seed=parsed.seed, texts=texts, cohorts=parsed.cohorts, subjects=subjects)
    local = study.local_subjects_file
    if local.is_file():
        for name, value in typed(read_yaml(local), _LocalSubjectsFile, source=local, where="").subjects.items():
            if name in everything.subjects:
                raise EntryError(f"{local}: subjects.{name}: the name is taken in {path}; choose another")
            try:
                everything = everything.with_subject(
                    _subject(name, value, texts=texts, source=local, frozen=False, cache=cache)
                )
            except ResolventError as error:
                reason = str(error)
                named = reason if reason.startswith(str(local)) else f"{local}: subjects.{name}: {reason}"
                everything = replace(everything, broken={**everything.broken, name: named})
    return everything


def local_subject(
    path: Path, *, name: str | None = None, overrides: SubjectEntry | None = None, cache: Path | None = None
) -> Subject:
    """A user's own model: a directory in Hugging Face format.

    path       the directory; needs config.json, a tokenizer and weights
    name       default: the directory's name, with a hyphen in place of anything but letters, digits, `.`, `_`, `-`
    overrides  what an entry of subjects.local.yaml says
    cache      file that remembers content hashes (`Subject.cache`)
    norm, positions, layers and heads are read off config.json; trained is True, checkpoints 0 and the corpus hansard;
    bos is the tokenizer's bos_token_id, else the config's. The checkpoints of a `series` are folders of the directory,
    named as its revision says; checkpoints is then their number. Raises ResolventError where the directory is no model,
    the family is not supported, or there is no BOS.
    """
    directory = path.expanduser().resolve()
    name = name or re.sub(r"[^A-Za-z0-9._-]+", "-", directory.name).lstrip("._-") or "model"
    try:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResolventError(
            f"{directory}: no config.json here; a local model is a directory in Hugging Face format"
        ) from None
    except (OSError, ValueError) as error:
        raise ResolventError(f"{directory}: config.json cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise ResolventError(f"{directory}: config.json is not a JSON object")
    found = architecture(config, name=str(directory))
    given = overrides or SubjectEntry(local=str(path))
    bos = given.bos if given.bos is not None else _bos(directory, config, name=name, cache=cache)
    subject = Subject(
        name=name,
        entry={"local": str(directory)},
        source="local",
        bos=bos,
        corpus=given.corpus or LOCAL_CORPUS,
        trained=True if given.trained is None else given.trained,
        norm=given.norm or found.norm,
        positions=given.positions or found.positions,
        layers=given.layers or found.layers,
        heads=given.heads or found.heads,
        checkpoints=given.checkpoints or (len(given.series.steps) if given.series else 0),
        frozen=False,
        note=_note(given.weights),
        series=given.series,
        directory=directory,
        cache=cache,
    )
    written = {"local": str(directory), "bos": bos, "corpus": subject.corpus, **subject.attributes()}
    return replace(subject, entry=written)


def content_hash(directory: Path, *, cache: Path | None = None) -> str:
    """SHA-256 over names and contents of config, tokenizer and weight files at the top of a directory.

    cache  JSON file that remembers the hash of each file by size and modification time
    Raises ResolventError where there are no weights or a file cannot be read.
    """
    try:
        files = sorted(
            entry
            for entry in directory.iterdir()
            if entry.is_file() and not entry.name.startswith(".") and entry.suffix in (*_WEIGHTS, *_TOKENIZER_FILES)
        )
        if not any(entry.suffix in _WEIGHTS for entry in files):
            raise ResolventError(f"{directory}: no weights here (*.safetensors or *.bin)")
        remembered = _read_cache(cache).get(str(directory), {})
        known = remembered.get("files", {})
        hashes: dict[str, list[Any]] = {}
        for entry in files:
            status = entry.stat()
            stamp = [status.st_size, status.st_mtime_ns]
            old = known.get(entry.name)
            if old is not None and old[:2] == stamp:
                hashes[entry.name] = old
            else:
                with entry.open("rb") as stream:
                    hashes[entry.name] = [*stamp, hashlib.file_digest(stream, "sha256").hexdigest()]
    except OSError as error:
        raise ResolventError(f"{directory}: cannot be read: {error}") from None
    if hashes != known:
        _remember(cache, directory, {**remembered, "files": hashes})
    lines = "".join(f"{name} {values[2]}\n" for name, values in hashes.items())
    return hashlib.sha256(lines.encode()).hexdigest()


def _subject(name: str, value: Any, *, texts: Mapping[str, Corpus], source: Path, frozen: bool, cache: Path) -> Subject:
    where = f"subjects.{name}"
    if not _NAME.fullmatch(name):
        raise EntryError(f"{source}: {where}: a name has letters, digits, '.', '_' and '-' only")
    entry = typed(value, SubjectEntry, source=source, where=where)
    kind = exactly_one(entry, ("wheel", "hub", "zoo", "local"), source=source, where=where)
    if kind == "local":
        if frozen:
            raise EntryError(f"{source}: {where}: a local model belongs into subjects.local.yaml")
        assert entry.local is not None
        directory = source.parent / Path(entry.local).expanduser()
        subject = local_subject(directory, name=name, overrides=entry, cache=cache)
    else:
        required = ("bos", "corpus", "trained", "norm", "positions", "layers", "heads", "checkpoints")
        missing = [key for key in required if getattr(entry, key) is None]
        if missing:
            raise EntryError(f"{source}: {where}: missing {', '.join(missing)}; only a local model may leave them out")
        subject = Subject(
            name=name,
            entry=dict(value),
            source=kind,  # type: ignore[arg-type]
            bos=entry.bos,  # type: ignore[arg-type]
            corpus=entry.corpus,  # type: ignore[arg-type]
            trained=entry.trained,  # type: ignore[arg-type]
            norm=entry.norm,  # type: ignore[arg-type]
            positions=entry.positions,  # type: ignore[arg-type]
            layers=entry.layers,  # type: ignore[arg-type]
            heads=entry.heads,  # type: ignore[arg-type]
            checkpoints=entry.checkpoints,  # type: ignore[arg-type]
            frozen=frozen,
            note=_note(entry.weights),
            wheel=entry.wheel,
            hub=entry.hub,
            zoo=entry.zoo,
            series=entry.series,
        )
    evaluation = [corpus.name for corpus in texts.values() if corpus.source != "generated"]
    if subject.corpus not in evaluation:
        raise EntryError(f"{source}: {where}.corpus: no corpus '{subject.corpus}'; known are {', '.join(evaluation)}")
    _check_series(subject, source=source, where=where)
    steps = len(subject.series.steps) if subject.series else 0
    if subject.checkpoints != steps and kind != "local":
        raise EntryError(f"{source}: {where}: checkpoints is {subject.checkpoints}, its series has {steps} steps")
    return subject


def _check_series(subject: Subject, *, source: Path, where: str) -> None:
    if subject.series is None:
        return
    steps = subject.series.steps
    if list(steps) != sorted(set(steps)):
        raise EntryError(f"{source}: {where}.series.steps: must ascend, found {', '.join(map(str, steps))}")
    if subject.zoo is not None and steps[-1] != subject.zoo.step:
        raise EntryError(f"{source}: {where}: the model is step {subject.zoo.step}, its series ends at {steps[-1]}")


def _note(weights: Mapping[str, str] | None) -> str:
    return ", ".join(f"{key}: {value}" for key, value in (weights or {}).items())


def _bos(directory: Path, config: Mapping[str, Any], *, name: str, cache: Path | None) -> int:
    stamps = {
        entry.name: [entry.stat().st_size, entry.stat().st_mtime_ns]
        for entry in sorted(directory.iterdir())
        if entry.is_file() and entry.suffix in _TOKENIZER_FILES
    }
    remembered = _read_cache(cache).get(str(directory), {})
    if remembered.get("bos_of") == stamps:
        bos = remembered["bos"]
    else:
        bos = _tokenizer_bos(directory, name=name)
        bos = config.get("bos_token_id") if bos is None else bos
        bos = bos[0] if isinstance(bos, list) and bos else bos
        _remember(cache, directory, {**remembered, "bos": bos, "bos_of": stamps})
    if not isinstance(bos, int):
        raise ResolventError(
            f"{directory}: neither its tokenizer nor its config.json names a BOS token. Add to subjects.local.yaml:\n"
            f"subjects:\n  {name}:\n    local: {directory}\n    bos: <the id to put before every text>"
        )
    return bos


def _tokenizer_bos(directory: Path, *, name: str) -> int | None:
    """bos_token_id of the tokenizer.

    Its own files say it in all but old models; only for those transformers is imported, which knows the defaults of
    their tokenizer classes.
    """
    try:
        declared = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        declared = {}
    if "bos_token" in declared and (directory / "tokenizer.json").is_file():
        token = declared["bos_token"]
        if token is None:
            return None
        from tokenizers import Tokenizer

        text = token["content"] if isinstance(token, dict) else token
        found = Tokenizer.from_file(str(directory / "tokenizer.json")).token_to_id(text)
        return found if found is None else int(found)
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, ImportError) as error:
        raise ResolventError(
            f"{name}: no tokenizer can be loaded from {directory}: {str(error).splitlines()[0]}"
        ) from None
    return None if tokenizer.bos_token_id is None else int(tokenizer.bos_token_id)


def _read_cache(cache: Path | None) -> dict[str, Any]:
    if cache is None:
        return {}
    try:
        return dict(json.loads(cache.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _remember(cache: Path | None, directory: Path, value: Mapping[str, Any]) -> None:
    if cache is None:
        return
    content = json.dumps({**_read_cache(cache), str(directory): value})
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=cache.parent, delete=False, encoding="utf-8") as stream:
            stream.write(content)
        os.replace(stream.name, cache)
    except OSError:
        # What is not remembered is read again the next time.
        return
