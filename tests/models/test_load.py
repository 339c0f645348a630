"""Loading: what is measured is the model that was declared, or nothing."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_models
import torch

from resolvent.models import load
from resolvent.models.families import UnsupportedModel
from resolvent.models.load import LoadError, load_directory, load_model, load_tokenizer, weight_bytes
from resolvent.models.subjects import Subject, local_subject
from resolvent.study import Study


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_models.save(tmp_path / "tiny")


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(root=tmp_path, evidence=tmp_path / "evidence", fetched=tmp_path / "fetched")


@pytest.mark.parametrize("name", tiny_models.NAMES)
def test_every_family_says_what_it_is(name: str, tmp_path: Path):
    """norm and positions decide which claims apply; they are read off the config alone."""
    subject = local_subject(tiny_models.save(tmp_path, name))
    layernorm = name.startswith("gpt")
    positions = {"gpt2": "learned", "gpt_neox": "rope_partial", "gpt_neox_sequential": "rope_partial"}
    assert subject.attributes() == {
        "trained": True,
        "norm": "layernorm" if layernorm else "rmsnorm",
        "positions": positions.get(name, "rope"),
        "layers": 3,
        "heads": 4,
        "checkpoints": 0,
    }


def test_loading_uses_no_network(folder: Path, study: Study, monkeypatch: pytest.MonkeyPatch):
    """The study runs on machines without one, and must not wait for timeouts."""

    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    loaded = load_model(study, local_subject(folder))
    assert loaded.encode("ab\n") == load_tokenizer(study, local_subject(folder))("ab\n").input_ids
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())


def test_dtype_and_attention_are_pinned_whatever_was_saved(folder: Path):
    """A saved model brings back its own dtype, and its config may ask for another attention."""
    config = json.loads((folder / "config.json").read_text())
    from transformers import AutoModelForCausalLM

    AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    assert config["dtype"] == "bfloat16"
    (folder / "config.json").write_text(json.dumps({**config, "attn_implementation": "sdpa"}))
    loaded = load_directory(folder, local_subject(folder))
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}
    assert loaded.model.config._attn_implementation == "eager"


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"heads": 2}, "heads is declared as 2, the model's config says 4"),
        ({"layers": 30}, "layers is declared as 30, the model's config says 3"),
        ({"norm": "layernorm"}, "norm is declared as layernorm, the model's config says rmsnorm"),
        ({"positions": "learned"}, "positions is declared as learned, the model's config says rope"),
        ({"bos": 260}, "bos is 260, the model's ids are 0 to 259"),
    ],
)
def test_a_difference_from_what_is_declared_names_both(folder: Path, declared: dict[str, object], says: str):
    """Which claims apply was decided from the declaration; it must be true."""
    with pytest.raises(LoadError, match=says):
        load_directory(folder, replace(local_subject(folder), **declared))


@pytest.mark.parametrize(
    ("device", "dtype", "says"),
    [
        ("cpu", "float16", "dtype float16 on cpu is refused.*NaN"),
        ("cpu", "bfloat16", "dtype bfloat16 on cpu is refused; allowed: float32"),
        ("tpu", "float32", "device 'tpu' is not supported"),
    ],
)
def test_dtypes_and_devices_that_give_wrong_numbers_are_refused(folder: Path, device: str, dtype: str, says: str):
    """eager float16 attention gives NaN on the CPU."""
    with pytest.raises(LoadError, match=says):
        load_directory(folder, local_subject(folder), device=device, dtype=dtype)  # type: ignore[arg-type]


def test_a_model_too_large_for_memory_is_refused_before_it_is_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """The alternative is a worker killed by the kernel, without a word."""
    monkeypatch.setattr(load, "available_memory", lambda device: 2**20)
    with pytest.raises(LoadError, match=r"does not fit into memory: 0\.39 GiB are needed on cpu as float32, 0\.00 GiB"):
        load_directory(folder, local_subject(folder))


def test_weight_bytes_are_those_of_the_wanted_dtype(folder: Path):
    """A bfloat16 file takes twice its size as float32."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    model.save_pretrained(folder)
    assert weight_bytes(folder, "float32") == 4 * parameters
    assert weight_bytes(folder, "bfloat16") == 2 * parameters


def test_a_sharded_model_is_loaded_and_its_parts_are_counted_once(folder: Path):
    """Large models come in parts, some with a second copy of the weights under another name."""
    whole = load_directory(folder, local_subject(folder))
    size = weight_bytes(folder, "float32")
    (folder / "model.safetensors").rename(folder / "consolidated.safetensors")
    whole.model.save_pretrained(folder, max_shard_size="40KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    assert weight_bytes(folder, "float32") == size
    parts = load_directory(folder, local_subject(folder))
    ids = torch.as_tensor(tiny_models.texts())
    assert torch.equal(parts.model(ids).logits, whole.model(ids).logits)


def test_quantised_weights_are_refused(folder: Path):
    """Packed weights would be measured in another arithmetic than the one that is pinned."""
    config = json.loads((folder / "config.json").read_text())
    quantised = {**config, "quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}}
    (folder / "config.json").write_text(json.dumps(quantised))
    with pytest.raises(LoadError, match="its weights are quantised"):
        load_directory(folder, local_subject(folder))


def test_missing_weights_are_refused(folder: Path):
    """transformers fills them with random numbers and only warns."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.self_attn.k_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(LoadError, match=r"1 weights are missing, such as model\.layers\.1\.self_attn\.k_proj\.weight"):
        load_directory(folder, local_subject(folder))


@pytest.mark.parametrize("damage", ["truncated", "header", "empty", "absent", "config"])
def test_damaged_directories_are_refused_with_one_line(folder: Path, study: Study, damage: str):
    """A half-copied model is the usual accident."""
    subject = local_subject(folder)
    weights = folder / "model.safetensors"
    if damage == "truncated":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif damage == "header":
        weights.write_bytes(weights.read_bytes()[:100])
    elif damage == "empty":
        weights.write_bytes(b"")
    elif damage == "absent":
        weights.unlink()
    else:
        (folder / "config.json").write_text("{")
    with pytest.raises(LoadError, match="tiny: ") as caught:
        load_model(study, subject)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("model_type", ["bloom", "gemma3", "opt", None])
def test_another_family_is_refused_by_name(folder: Path, model_type: str | None):
    """A residual stream or a mask that was not checked would be guessed."""
    subject = local_subject(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type, "num_hidden_layers": 2}))
    with pytest.raises(UnsupportedModel, match=f"model type '{model_type}' is not supported.*supported are gpt2"):
        local_subject(folder)
    if model_type == "opt":
        with pytest.raises(UnsupportedModel, match="tiny: model type 'opt'"):
            load_directory(folder, subject)


def test_a_model_that_is_not_fetched_names_the_command(study: Study):
    """The study itself never downloads."""
    subject = Subject(
        name="far",
        entry={},
        source="hub",
        bos=0,
        corpus="hansard",
        trained=True,
        norm="rmsnorm",
        positions="rope",
        layers=1,
        heads=1,
    )
    with pytest.raises(LoadError, match="'far' is not fetched; run: resolvent fetch far"):
        load_model(study, subject)
