"""Subjects: the files say what they mean, a user's own model needs no code, and nothing heavy is imported."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_models
import yaml

from resolvent.errors import ResolventError
from resolvent.models.families import UnsupportedModel
from resolvent.models.subjects import StudySubjects, content_hash, load_subjects, local_subject
from resolvent.study import Study, open_study
from resolvent.texts.entries import EntryError

REPOSITORY = Path(__file__).parents[2]
TEXTS: dict[str, dict[str, object]] = {
    "hansard": {
        "wheel": {"name": "words", "version": "1.0.0", "member": "a/b.zip", "member_sha256": "0" * 64},
        "format": {"csv": "utf-8", "id": "row", "text": "text"},
        "order": "hash",
    },
    "repeat_probe": {"generated": "repeat"},
}
HUB = {"model": "who/what", "revision": "a" * 40}
ENTRY = {
    "hub": HUB,
    "bos": 0,
    "corpus": "hansard",
    "trained": True,
    "norm": "rmsnorm",
    "positions": "rope",
    "layers": 2,
    "heads": 3,
    "checkpoints": 0,
}


def study_with(folder: Path, *, local: object = None, cohorts: object = None, **entry: object) -> Study:
    """A study of one subject `one`, its entry changed by `entry` (None leaves a key out)."""
    changed = {key: value for key, value in {**ENTRY, **entry}.items() if value is not None}
    (folder / "prereg").mkdir(exist_ok=True)
    content = {"seed": 1, "texts": TEXTS, "cohorts": cohorts or {"embedded": ["one"]}, "subjects": {"one": changed}}
    (folder / "prereg/subjects.yaml").write_text(yaml.safe_dump(content))
    if local is not None:
        (folder / "subjects.local.yaml").write_text(yaml.safe_dump({"subjects": local}))
    return open_study(folder)


def loaded(folder: Path, **changes: object) -> StudySubjects:
    return load_subjects(study_with(folder, **changes))


def test_the_registered_file_is_read_as_it_stands():
    """The one file that matters; its numbers are those of the study."""
    subjects = load_subjects(open_study(REPOSITORY))
    subject = subjects.subject("smollm2-135m")
    assert subjects.seed == 20261201
    assert subjects.cohort("embedded")[0] == subject
    assert subject.frozen
    assert (subject.bos, subject.source, subject.note) == (0, "wheel", "tuned: instruct, quantised: q4_1")
    assert subject.attributes() == {
        "trained": True,
        "norm": "rmsnorm",
        "positions": "rope",
        "layers": 30,
        "heads": 9,
        "checkpoints": 0,
    }
    assert "corpus" not in subject.identity()
    assert json.loads(json.dumps(subject.identity())) == subject.identity()
    assert subjects.subject("pythia-410m").attributes()["checkpoints"] == 13
    assert subjects.corpus_of(subject).minimum_characters == 700


def test_reading_subjects_imports_nothing_heavy():
    """Every one of 128 workers does it."""
    code = (
        "import sys, pathlib\n"
        "import resolvent.models.fetch, resolvent.texts.probes, resolvent.texts.selection\n"
        "from resolvent.models.subjects import load_subjects\nfrom resolvent.study import open_study\n"
        f"load_subjects(open_study(pathlib.Path({str(REPOSITORY)!r})))\n"
        "heavy = {'torch', 'transformers', 'pyarrow', 'tokenizers', 'jaxtyping', 'huggingface_hub', 'scipy', 'numba'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"layers": "two"}, r"subjects\.one\.layers: Expected `int \| null`, got `str`"),
        ({"layers": 0}, r"subjects\.one\.layers: Expected `int` >= 1"),
        ({"norm": "batchnorm"}, r"subjects\.one\.norm: Invalid enum value 'batchnorm'; allowed are layernorm, rmsnorm"),
        ({"color": 1}, r"subjects\.one: Object contains unknown field `color`; allowed are wheel, hub, zoo, local"),
        ({"hub": {**HUB, "branch": "main"}}, r"subjects\.one\.hub: .*`branch`; allowed are model, revision"),
        ({"hub": {**HUB, "revision": "main"}}, r"subjects\.one\.hub\.revision"),
        ({"hub": None}, "exactly one of wheel, hub, zoo, local; found none"),
        ({"wheel": TEXTS["hansard"]["wheel"]}, "found wheel and hub"),
        ({"heads": None}, r"subjects\.one: missing heads; only a local model"),
        ({"corpus": "news"}, r"subjects\.one\.corpus: no corpus 'news'; known are hansard"),
        ({"corpus": "repeat_probe"}, "no corpus 'repeat_probe'"),
        ({"checkpoints": 3}, "checkpoints is 3, its series has 0 steps"),
        ({"cohorts": {"all": ["one", "two"]}}, r"cohorts\.all: no subject 'two'; known are one"),
    ],
)
def test_a_mistake_names_file_path_and_what_is_allowed(tmp_path: Path, changes: dict[str, object], says: str):
    """A key that is silently ignored changes what is measured."""
    with pytest.raises(EntryError, match=says) as caught:
        loaded(tmp_path, **changes)
    assert "prereg/subjects.yaml: " in str(caught.value)


def test_unknown_names_are_answered_with_the_known_ones(tmp_path: Path):
    """The message of a typing mistake on the command line."""
    subjects = loaded(tmp_path)
    with pytest.raises(ResolventError, match="no subject 'two'; known are one"):
        subjects.subject("two")
    with pytest.raises(ResolventError, match="no cohort 'paper'; known are embedded"):
        subjects.cohort("paper")


def test_a_local_model_needs_no_more_than_its_directory(tmp_path: Path):
    """BOS, norm, positions, layers and heads are read off its files."""
    subject = local_subject(tiny_models.save(tmp_path / "my model"))
    assert (subject.name, subject.bos, subject.corpus, subject.trained) == ("my-model", 0, "hansard", True)
    assert not subject.frozen
    assert subject.available(study_with(tmp_path)) is None


def test_an_entry_of_a_local_model_overrides_and_stands_in_the_local_file(tmp_path: Path):
    """Paths are relative to that file; what it does not say is read off the model."""
    tiny_models.save(tmp_path / "mine")
    local = {"mine": {"local": "mine", "bos": 2, "trained": False, "checkpoints": 4}}
    subject = loaded(tmp_path, local=local).subject("mine")
    assert (subject.bos, subject.trained, subject.layers, subject.checkpoints) == (2, False, 3, 4)
    assert (subject.frozen, subject.directory) == (False, tmp_path / "mine")


@pytest.mark.parametrize(
    ("local", "says"),
    [
        ({"one": {"local": "mine"}}, r"subjects\.one: the name is taken"),
        ({"two": {"local": "nowhere"}}, r"subjects\.local\.yaml: subjects\.two: .*nowhere: no config.json here"),
        ({"two": {"local": "mine", "corpus": "news"}}, r"subjects\.two\.corpus: no corpus 'news'"),
        ({"two": {"local": "mine", "bos": -1}}, r"subjects\.two\.bos"),
        ({"a/b": {"local": "mine"}}, "letters, digits"),
    ],
)
def test_mistakes_in_the_local_file_are_named(tmp_path: Path, local: dict[str, object], says: str):
    """Its schema is that of the registered subjects; a broken entry stops nobody who asks for another."""
    tiny_models.save(tmp_path / "mine")
    name = next(iter(local))
    with pytest.raises(ResolventError, match=says):
        loaded(tmp_path, local=local).subject(name)
    if name != "one":
        assert loaded(tmp_path, local=local).subject("one").name == "one"


def test_a_directory_whose_name_is_taken_is_refused(tmp_path: Path):
    """Names key the random draws and the evidence; two subjects must not share them."""
    subjects = loaded(tmp_path)
    with pytest.raises(ResolventError, match="'one' is taken"):
        subjects.with_subject(local_subject(tiny_models.save(tmp_path / "one")))


def test_bos_is_the_tokenizers_else_the_configs_else_asked_for(tmp_path: Path):
    """The three places in their order; the error shows the lines to add."""
    folder = tiny_models.save(tmp_path / "mine", bos_token_id=7)
    assert local_subject(folder).bos == 0
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "bos_token": None}))
    assert local_subject(folder).bos == 7
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "bos_token_id": None}))
    with pytest.raises(ResolventError, match=r"subjects\.local\.yaml:\nsubjects:\n  mine:\n    local: .*\n    bos: "):
        local_subject(folder)


def test_bos_of_a_tokenizer_that_does_not_say_is_its_class_default(tmp_path: Path):
    """The tokenizer files of GPT-2 name no BOS; its class does."""
    folder = tiny_models.save(tmp_path / "mine", bos_token_id=7)
    settings = {"tokenizer_class": "GPT2Tokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert local_subject(folder).bos == 0


def test_local_content_decides_the_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Evidence of other weights must never be taken for that of these; unchanged files are not read again."""
    folder, cache = tiny_models.save(tmp_path / "mine"), tmp_path / "fetched/local_models.json"
    before = local_subject(folder, cache=cache).identity()
    reads = []
    original = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *a: reads.append(1) or original(*a))
    assert local_subject(folder, cache=cache).identity() == before
    assert reads == []
    assert local_subject(folder).identity() == before
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    assert local_subject(folder, cache=cache).identity() != before


def test_identity_does_not_depend_on_where_the_directory_lies(tmp_path: Path):
    """A moved model keeps its evidence."""
    first = tiny_models.save(tmp_path / "a")
    before = content_hash(first)
    assert content_hash(first.rename(tmp_path / "b")) == before


def test_a_directory_without_weights_or_of_another_kind_is_refused(tmp_path: Path):
    """Said when the subject is named, not an hour later."""
    folder = tiny_models.save(tmp_path / "mine")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ResolventError, match="no weights here"):
        local_subject(folder).identity()
    (folder / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(UnsupportedModel, match="model type 't5'"):
        local_subject(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 3}))
    with pytest.raises(ResolventError, match="'num_attention_heads' must be a positive integer, found None"):
        local_subject(folder)
