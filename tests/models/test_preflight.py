"""Preflight: each way to measure wrong numbers is refused, by name and with the numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch

from resolvent.models.capture import capture
from resolvent.models.families import UnsupportedModel
from resolvent.models.load import LoadedModel
from resolvent.models.preflight import PreflightError, check_logits, check_map, check_residual


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedModel:
    return tiny_models.load(tmp_path / "tiny")


def uniform(heads: int = 4, n: int = 5) -> torch.Tensor:
    return (torch.tril(torch.ones(n, n)) / torch.arange(1, n + 1)[:, None]).repeat(heads, 1, 1)


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ([[5, 6, 7]], r"text 0: BOS \(0\) must stand at position 0 .* no position"),
        ([[0, 6, 7], [0, 0, 7]], r"text 1: BOS .* stands at \[0, 1\]"),
        ([[6, 0, 7]], r"stands at \[1\]"),
        ([[0, 6, 260]], "token ids from 0 to 260; the model's are 0 to 259"),
        ([[0, -1, 5]], "token ids from -1"),
        ([0, 5, 6], r"shape \(texts, n\)"),
        ([[0.0, 5.0]], "must be integers"),
        ([[0, *[5] * 64]], "texts of 65 positions, the model has 64"),
    ],
)
def test_ids_that_are_no_texts_with_one_bos_are_refused(loaded: LoadedModel, ids: list, says: str):
    """A missing, doubled or moved BOS changes the sink, which is what is measured."""
    with pytest.raises(PreflightError, match=says):
        capture(loaded, np.array(ids))


def test_a_model_in_training_mode_is_refused(loaded: LoadedModel):
    """Dropout makes rows sum to anything between 0.7 and 1.1."""
    loaded.model.model.layers[1].train()
    with pytest.raises(PreflightError, match=r"not in eval mode \(module 'model.layers.1'"):
        capture(loaded, tiny_models.texts())


def test_another_attention_implementation_is_refused(loaded: LoadedModel):
    """sdpa returns no maps at all, flex returns zeros."""
    loaded.model.set_attn_implementation("sdpa")
    with pytest.raises(PreflightError, match="attention implementation is 'sdpa'"):
        capture(loaded, tiny_models.texts())


def test_a_part_in_another_dtype_is_refused(loaded: LoadedModel):
    """A saved model brings back its own dtype; half of it in bfloat16 would still run."""
    loaded.model.model.embed_tokens.to(torch.bfloat16)
    with pytest.raises(PreflightError, match=r"embed_tokens.weight is torch.bfloat16, torch.float32 was pinned"):
        capture(loaded, tiny_models.texts())


@pytest.mark.parametrize("name", ["mistral", "gemma3_text", "qwen2"])
def test_a_window_shorter_than_the_texts_is_refused_with_the_numbers(name: str, tmp_path: Path):
    """Late rows of such a layer cannot see BOS: its maps are causal and stochastic, and mean something else."""
    loaded = tiny_models.load(tmp_path, name)
    with pytest.raises(UnsupportedModel, match="sliding window of 12 positions, the texts have 13"):
        capture(loaded, tiny_models.texts(n=13))


def test_a_window_as_long_as_the_texts_hides_nothing(tmp_path: Path):
    """The window counts the row itself: at length n a window of n is the full causal map."""
    windowed = tiny_models.load(tmp_path / "a", "mistral")
    full = tiny_models.load(tmp_path / "b", "mistral", sliding_window=None)
    ids = tiny_models.texts()
    assert (capture(windowed, ids).attention == capture(full, ids).attention).all()
    assert full.windows == (None,) * 3


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda a: a[1, 2, 3].fill_(1e-30), r"head 1, row 2, column 3 .*above the diagonal"),
        (lambda a: a[2, 3, 1].fill_(torch.nan), r"head 2, row 3, column 1 .*not finite"),
        (lambda a: a[0, 4, 0].fill_(-1e-9), "negative attention"),
        (lambda a: a[3, 4].mul_(0.74), "head 3, row 4: sums to 1 up to 0.26"),
    ],
)
def test_a_map_that_is_not_causal_stochastic_is_refused(loaded: LoadedModel, spoil, says: str):
    """Any of these is a sign that the model does not do what its map says."""
    attention = uniform()
    assert check_map(loaded, attention, n=5, text=0, layer=2) < 1e-6
    spoil(attention)
    with pytest.raises(PreflightError, match=f"text 0, layer 2.*{says}"):
        check_map(loaded, attention, n=5, text=0, layer=2)


@pytest.mark.parametrize("maps", [None, torch.ones(2, 5, 5), torch.ones(4, 5, 6)])
def test_absent_maps_and_maps_of_another_shape_are_refused(loaded: LoadedModel, maps: torch.Tensor | None):
    """With grouped queries the maps must still have all the query heads."""
    with pytest.raises(PreflightError, match=r"returns no map|expected \(heads, n, n\) = \(4, 5, 5\)"):
        check_map(loaded, maps, n=5, text=0, layer=0)


def test_a_layer_that_is_skipped_is_named(loaded: LoadedModel):
    """Fewer maps than layers would shift every layer number behind the gap."""
    layer = loaded.model.model.layers[1]
    layer.self_attn.forward = lambda hidden_states, **_: (hidden_states, None)
    with pytest.raises(PreflightError, match="layer 1: the attention module returns no map"):
        capture(loaded, tiny_models.texts())


def test_a_block_that_adds_something_else_is_refused(loaded: LoadedModel):
    """Residual measurements assume output = input + attention + MLP, each as the block adds it."""
    layer = loaded.model.model.layers[2]
    original = layer.forward
    layer.forward = lambda *a, **k: original(*a, **k) * 1.001
    with pytest.raises(PreflightError, match="layer 2: block output differs from input"):
        capture(loaded, tiny_models.texts())
    stream = torch.ones(1, 5, 8)
    check_residual(loaded, before=stream, attention=stream, mlp=stream, after=3 * stream, layer=0)


def test_logits_that_differ_from_an_untouched_pass_are_refused(loaded: LoadedModel):
    """Something that acts only while we measure would make the maps those of another model."""
    logits = torch.randn(5, 20)
    check_logits(loaded, logits, logits.clone())
    with pytest.raises(PreflightError, match="differ from an untouched pass"):
        check_logits(loaded, logits * 1.0001, logits)
    with pytest.raises(PreflightError, match="differ from an untouched pass"):
        check_logits(loaded, logits * torch.nan, logits)


def test_a_model_that_changes_between_passes_is_caught_by_capture(loaded: LoadedModel):
    """The comparison is part of every capture, not only a function."""
    calls = []

    def drift(_module, _inputs, output):
        calls.append(1)
        return output + 0.01 * len(calls)

    loaded.model.lm_head.register_forward_hook(drift)
    with pytest.raises(PreflightError, match="differ from an untouched pass"):
        capture(loaded, tiny_models.texts())


def test_declared_heads_are_what_the_maps_must_have(loaded: LoadedModel):
    """A head count taken from the key groups would pass silently otherwise."""
    with pytest.raises(PreflightError, match=r"expected \(heads, n, n\) = \(2, 12, 12\)"):
        capture(replace(loaded, heads=2), tiny_models.texts())
