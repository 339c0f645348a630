"""Conversion: what comes out of a GGUF file is the model that went in, or an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
import tiny_models
import torch

from resolvent.models import convert
from resolvent.models.convert import ConversionError, convert_gguf
from resolvent.models.load import load_directory
from resolvent.models.subjects import local_subject


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_gguf.trained_llama()


def test_converted_weights_give_the_same_logits(model: Any, tmp_path: Path):
    """Among them the order of query and key rows, which llama.cpp changes and the reader must change back."""
    ready = tmp_path / "ready"
    perplexity = convert_gguf(tiny_gguf.write_gguf(tmp_path / "m.gguf", model), ready, name="tiny", bos=0)
    assert 1 < perplexity < 30
    loaded = load_directory(ready, local_subject(ready))
    ids = torch.as_tensor(tiny_models.texts())
    with torch.inference_mode():
        torch.testing.assert_close(loaded.model(ids).logits, model(ids).logits, rtol=1e-4, atol=1e-4)
    assert getattr(loaded.model.config, "quantization_config", None) is None
    assert loaded.encode("plain English") == tiny_models.tokenizer()("plain English").input_ids


def test_rows_in_the_wrong_order_are_refused(model: Any, tmp_path: Path):
    """They load without a word and raise the perplexity of a real model only threefold: no fixed limit finds them."""
    gguf = tiny_gguf.write_gguf(tmp_path / "m.gguf", model, interleaved=False)
    with pytest.raises(ConversionError, match="the rows were read in the wrong order"):
        convert_gguf(gguf, tmp_path / "ready", name="tiny", bos=0, perplexity_limit=1e9)
    assert not (tmp_path / "ready").exists()


def test_absurd_weights_are_refused_with_their_perplexity(model: Any, tmp_path: Path):
    """Weights that predict nothing were not read right, whatever the reason."""
    gguf = tiny_gguf.write_gguf(tmp_path / "m.gguf", model)
    with pytest.raises(ConversionError, match=r"tiny: perplexity on plain English is \d.*, at most 1.5 is allowed"):
        convert_gguf(gguf, tmp_path / "ready", name="tiny", bos=0, perplexity_limit=1.5)


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path):
    """The message names the model and the file."""
    (tmp_path / "m.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(ConversionError, match=r"tiny: m\.gguf cannot be read as a model"):
        convert_gguf(tmp_path / "m.gguf", tmp_path / "ready", name="tiny", bos=0)


def test_too_little_memory_is_said_before_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Dequantised weights take eight times the file."""
    (tmp_path / "m.gguf").write_bytes(bytes(2**20))
    monkeypatch.setattr(convert, "available_memory", lambda device: 1)
    with pytest.raises(ConversionError, match=r"needs about 0\.01 GiB of memory, 0\.00 GiB are free"):
        convert_gguf(tmp_path / "m.gguf", tmp_path / "ready", name="tiny", bos=0)
