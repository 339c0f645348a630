"""Export and packaging: what was trained is what is loaded, pinned by hash, described by its card."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from zoo_builders import corpus, documents, recipe

from resolvent import cli
from resolvent.errors import ResolventError
from resolvent.models.capture import capture
from resolvent.models.fetch import fetch
from resolvent.models.load import LoadError, load_model
from resolvent.models.subjects import Subject, load_subjects
from resolvent.models.zoo import command, packaged
from resolvent.models.zoo import corpus as corpus_module
from resolvent.models.zoo.corpus import TrainingCorpus
from resolvent.models.zoo.export import export
from resolvent.models.zoo.families import BOS_ID, CONTEXT, RECIPES, Recipe, checkpoint_steps
from resolvent.models.zoo.packaged import PackagedWeightsError, check_contents, problem, read_card
from resolvent.models.zoo.training import TrainingError, checkpoint_file, load_weights, train
from resolvent.study import Study, open_study
from resolvent.texts.entries import EntryError

REPOSITORY = Path(__file__).resolve().parents[3]
STEPS = checkpoint_steps(recipe())


@dataclass(frozen=True)
class Exported:
    """A family that was trained and exported."""

    recipe: Recipe
    run: Path
    folder: Path
    digest: str


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> TrainingCorpus:
    # Eight held-out rows are measured for the card.
    return corpus(tmp_path_factory.mktemp("corpus"), count=250)


@pytest.fixture(scope="module")
def families(texts: TrainingCorpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exported]:
    root = tmp_path_factory.mktemp("families")
    found = {}
    for name in RECIPES:
        small = recipe(name)
        train(small, texts, root / "runs" / name)
        digest = export(name, small, texts, root / "runs" / name, root / "weights" / name)
        found[name] = Exported(small, root / "runs" / name, root / "weights" / name, digest)
    return found


@pytest.fixture
def neox(families: dict[str, Exported], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exported:
    """A copy of its own, in the place of the package's weights."""
    exported = families["mini-neox"]
    monkeypatch.setattr(packaged, "WEIGHTS", tmp_path / "weights")
    shutil.copytree(exported.folder, tmp_path / "weights" / "mini-neox")
    return Exported(exported.recipe, exported.run, tmp_path / "weights" / "mini-neox", exported.digest)


def study_with(folder: Path, digest: str, **changes: Any) -> Study:
    entry = {
        "zoo": {"family": "mini-neox", "step": STEPS[-1], "sha256": digest},
        "bos": BOS_ID,
        "corpus": "words",
        "trained": True,
        "norm": "layernorm",
        "positions": "rope_partial",
        "layers": 2,
        "heads": 2,
        "checkpoints": len(STEPS),
        "series": {"revision": "step{}", "steps": list(STEPS), "tokens_per_step": 512},
        **changes,
    }
    wheel = {"name": "words", "version": "1.0.0", "member": "words.txt", "member_sha256": "0" * 64}
    words = {"wheel": wheel, "format": {"lines": "utf-8"}, "order": "hash"}
    content = {
        "seed": 7,
        "texts": {"words": words, "repeat_probe": {"generated": "repeat"}},
        "cohorts": {"embedded": ["small"]},
        "subjects": {"small": {key: value for key, value in entry.items() if value is not None}},
    }
    (folder / "prereg").mkdir(exist_ok=True)
    (folder / "prereg" / "subjects.yaml").write_text(yaml.safe_dump(content))
    return open_study(folder)


def subject_of(study: Study) -> Subject:
    return load_subjects(study).subject("small")


@pytest.mark.parametrize("name", list(RECIPES))
def test_exported_weights_are_the_trained_ones_in_half_precision(families: dict[str, Exported], name: str) -> None:
    """Every checkpoint of the schedule, and nothing but float16."""
    from transformers import AutoModelForCausalLM

    family = families[name]
    steps = checkpoint_steps(family.recipe)
    assert {folder.name for folder in family.folder.glob("step*")} == {f"step{step}" for step in steps}
    for step in steps:
        model = AutoModelForCausalLM.from_pretrained(family.folder / f"step{step}")
        trained = load_weights(checkpoint_file(family.run, step))
        found = model.state_dict()
        assert found.keys() == trained.keys()
        for key, tensor in trained.items():
            assert found[key].dtype == torch.float16
            assert torch.equal(found[key], tensor.half()), key


def test_an_unfinished_run_is_not_exported(texts: TrainingCorpus, tmp_path: Path) -> None:
    """A card must not describe weights that were never reached."""
    train(recipe(), texts, tmp_path / "run", stop_after=7)
    with pytest.raises(TrainingError, match="no checkpoint of step 20; train small to its end"):
        export("small", recipe(), texts, tmp_path / "run", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_second_export_replaces_the_first_and_is_equal(
    families: dict[str, Exported], texts: TrainingCorpus, tmp_path: Path
) -> None:
    """The manifest's hash pins the weights, so it must not depend on the day."""
    family = families["mini-llama"]
    digests = [export("mini-llama", family.recipe, texts, family.run, tmp_path / "out") for _ in range(2)]
    assert digests == [family.digest, family.digest]
    assert {entry.name for entry in tmp_path.iterdir()} == {"out"}


def test_a_packaged_family_is_a_subject_with_checkpoints(neox: Exported, tmp_path: Path) -> None:
    """Loaded, measured and told apart by step, with nothing fetched."""
    study = study_with(tmp_path, neox.digest)
    subject = subject_of(study)
    assert subject.available(study) is None
    assert subject.attributes()["checkpoints"] == len(STEPS)
    assert subject.identity()["zoo"]["sha256"] == neox.digest
    assert subject.origin() == "this package: mini-neox, trained by the project, step 20"
    assert subject.weights_on_disk(study) == sum(path.stat().st_size for path in neox.folder.rglob("*.safetensors"))
    ids = np.random.default_rng(0).integers(1, 1000, (1, CONTEXT))
    ids[:, 0] = BOS_ID
    maps = {step: capture(load_model(study, subject, step=step), ids).attention for step in (0, STEPS[-1])}
    assert not np.array_equal(maps[0], maps[STEPS[-1]])
    np.testing.assert_array_equal(capture(load_model(study, subject), ids).attention, maps[STEPS[-1]])
    loaded = load_model(study, subject)
    assert loaded.model.dtype == torch.float32
    assert loaded.special_ids == (BOS_ID,)
    assert BOS_ID not in loaded.encode("The tokenizer adds no BOS by itself.")


def test_fetching_a_packaged_family_brings_nothing(neox: Exported, tmp_path: Path) -> None:
    """It lies in the package: `resolvent fetch` says so instead of asking a hub."""
    said: list[str] = []
    study = study_with(tmp_path, neox.digest)
    folder = study.fetched / "texts" / "words"
    folder.mkdir(parents=True)
    (folder / "words.txt").write_text("")
    with pytest.raises(ResolventError, match="words"):  # the corpus of this test has no real wheel
        fetch(study, ["small"], report=said.append, download=lambda wheel, at: at)
    assert "small: comes with this package, nothing to fetch" in said


def test_other_weights_than_the_registered_are_refused(neox: Exported, tmp_path: Path) -> None:
    """An entry pins the manifest, the manifest every file: sizes at the start, contents when loaded."""
    other = study_with(tmp_path, "0" * 64)
    assert "not the registered weights" in str(subject_of(other).available(other))
    study = study_with(tmp_path, neox.digest)
    weights = neox.folder / "step20" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert subject_of(study).available(study) is None, "sizes only"
    with pytest.raises(PackagedWeightsError, match="not what its manifest says"):
        load_model(study, subject_of(study))
    weights.write_bytes(data[:-8])
    assert "another size" in str(subject_of(study).available(study))
    with pytest.raises(LoadError, match="another size"):
        load_model(study, subject_of(study))


def test_what_is_missing_is_said(neox: Exported, tmp_path: Path) -> None:
    """A family or a step that the package does not hold."""
    assert problem("mini-neox", neox.digest, step=6) is None
    assert "no checkpoint of step 7" in str(problem("mini-neox", neox.digest, step=7))
    assert "no readable manifest" in str(problem("mini-mamba", neox.digest, step=6))
    (neox.folder / "step6" / "config.json").unlink()
    assert "missing" in str(problem("mini-neox", neox.digest, step=6))
    with pytest.raises(PackagedWeightsError, match=r"config\.json: missing"):
        check_contents(neox.folder / "step6")
    with pytest.raises(PackagedWeightsError, match="no readable training card"):
        read_card("mini-mamba")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"zoo": {"family": "mini-neox", "step": 6, "sha256": "0" * 64}}, "the model is step 6, its series ends at 20"),
        ({"zoo": {"family": "mini-neox", "step": 20}}, r"subjects\.small\.zoo: .*missing required field `sha256`"),
        ({"hub": {"model": "a/b", "revision": "0" * 40}}, "exactly one of wheel, hub, zoo, local"),
        (
            {"series": {"revision": "step{}", "steps": [0, 6, 2, 20], "tokens_per_step": 512}},
            r"series\.steps: must ascend, found 0, 6, 2, 20",
        ),
    ],
)
def test_a_mistaken_entry_is_named(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    """Which checkpoint is the model must not be a matter of luck."""
    with pytest.raises(EntryError, match=says):
        load_subjects(study_with(tmp_path, "0" * 64, **changes))


CARD_KEYS = {
    "family",
    "choice",
    "parameters",
    "recipe",
    "repeats",
    "about_corpus",
    "corpus",
    "tokens_per_step",
    "tokens_seen",
    "checkpoints",
    "circuits",
    "threads",
    "device",
    "versions",
    "about_determinism",
    "loss_curve",
}


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_card_says_everything(families: dict[str, Exported], texts: TrainingCorpus, name: str) -> None:
    """Data hash, recipe, tokens, loss curve, checkpoints, threads, versions, and what the recipe was chosen by."""
    family = families[name]
    card = read_card(name, family.folder)
    assert set(card) == CARD_KEYS
    assert card["corpus"] == json.loads(json.dumps(texts.facts.to_json()))
    assert card["recipe"] == json.loads(json.dumps(family.recipe.to_json()))
    assert card["tokens_seen"] == 20 * 4 * CONTEXT
    steps = list(checkpoint_steps(family.recipe))
    assert [checkpoint["step"] for checkpoint in card["checkpoints"]] == steps
    assert [checkpoint["tokens"] for checkpoint in card["checkpoints"]] == [step * 512 for step in steps]
    assert all(0 < checkpoint["validation_loss"] < 8 for checkpoint in card["checkpoints"])
    assert card["loss_curve"]["training"][-1][0] == 20
    assert card["threads"] == 1
    assert "never by a claim's verdict" in card["choice"]
    assert set(card["versions"]) == {"python", "torch", "transformers", "tokenizers", "numpy"}
    assert all(np.isfinite(value) for value in card["circuits"].values())


def test_the_command_trains_resumes_and_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`resolvent train NAME`, run twice: the second finds everything done and writes the same weights."""
    small = recipe("mini-llama")
    monkeypatch.setattr(command, "recipe_of", lambda name: small)
    monkeypatch.setattr(corpus_module, "installed_documents", lambda sources: documents(250))
    arguments = ["train", "mini-llama", "--folder", str(tmp_path), "--device", "cpu"]
    assert cli.main(arguments) == 0
    first = capsys.readouterr().out
    manifest = tmp_path / "mini-llama" / "family" / "manifest.json"
    before = manifest.read_bytes()
    assert "data hash" in first
    assert "step 20/20" in first
    assert cli.main([*arguments, "--output", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "manifest.json").read_bytes() == before
    assert "step" not in capsys.readouterr().out.replace("step20", "")


def test_an_unknown_family_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake of the user's, without a traceback and before any corpus is built."""
    assert cli.main(["train", "mini-mamba", "--folder", str(tmp_path)]) == 2
    assert "no family 'mini-mamba'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


PACKAGED = sorted(folder.name for folder in packaged.WEIGHTS.glob("*") if folder.is_dir())


@pytest.mark.parametrize("name", PACKAGED)
def test_the_weights_of_this_package_are_whole_and_described(name: str) -> None:
    """What ships is what its manifest says, by the recipe that stands in the code, from the pinned sources."""
    card, folder = read_card(name), packaged.family_folder(name)
    assert card["recipe"] == json.loads(json.dumps(RECIPES[name].to_json()))
    for step in checkpoint_steps(RECIPES[name]):
        check_contents(folder / f"step{step}")
    assert {path.name for path in folder.glob("step*")} == {f"step{step}" for step in checkpoint_steps(RECIPES[name])}
    assert card["corpus"]["sources"] == dict(corpus_module.SOURCES)
    assert card["threads"] == 1


def test_the_package_stays_small() -> None:
    """At most 60 MiB of weights, and no other binary beside them."""
    files = [path for path in packaged.WEIGHTS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 60 * 2**20
    assert {path.suffix for path in files} <= {".json", ".safetensors"}
