"""Capture: what the hooks collect is what an untouched forward pass computes, in every family."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch

from resolvent.models.capture import capture, token_cross_entropy
from resolvent.models.load import LoadedModel


@pytest.fixture(scope="module", params=tiny_models.NAMES)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return tiny_models.load(tmp_path_factory.mktemp("model"), request.param)


def untouched(loaded: LoadedModel, ids: np.ndarray) -> object:
    with torch.inference_mode():
        return loaded.model(torch.as_tensor(ids), output_attentions=True, output_hidden_states=True, use_cache=False)


def test_attention_is_that_of_an_untouched_pass(loaded: LoadedModel):
    """Hooks, packing and grouped heads must not move an entry to another place."""
    ids = tiny_models.texts()
    n = ids.shape[1]
    expected = torch.stack(untouched(loaded, ids).attentions, 1).numpy()
    rows, columns = np.tril_indices(n)
    captured = capture(loaded, ids)
    assert captured.attention.dtype == np.float32
    assert captured.attention.shape == (3, loaded.layers, loaded.heads, n * (n + 1) // 2)
    np.testing.assert_allclose(captured.attention, expected[..., rows, columns], atol=1e-6)
    assert captured.attention.std() > 0.05, "maps of nearly uniform rows would pass whatever was done to them"


def test_cross_entropy_is_that_of_an_untouched_pass(loaded: LoadedModel):
    """Entry t belongs to token t+1; a shift by one would still look like a loss."""
    ids = tiny_models.texts()
    logits = untouched(loaded, ids).logits.double()
    expected = -torch.log_softmax(logits, -1)[:, :-1].gather(2, torch.as_tensor(ids)[:, 1:, None])[..., 0]
    captured = capture(loaded, ids)
    assert captured.cross_entropy.dtype == np.float32
    np.testing.assert_allclose(captured.cross_entropy, expected.numpy(), rtol=1e-5, atol=1e-5)


def test_boundaries_are_the_stream_before_the_final_norm(loaded: LoadedModel):
    """transformers' last hidden state is after the final norm: the boundary before it must give it when normed."""
    ids = tiny_models.texts()
    expected = [state.numpy() for state in untouched(loaded, ids).hidden_states]
    captured = capture(loaded, ids, boundaries=True).boundaries
    assert captured is not None
    assert captured.shape == (3, loaded.layers + 1, ids.shape[1], 32)
    for boundary in range(loaded.layers):
        np.testing.assert_allclose(captured[:, boundary], expected[boundary], rtol=1e-5, atol=1e-5)
    norm = next(
        m for path, m in loaded.model.named_modules() if path.split(".")[-1] in ("norm", "ln_f", "final_layer_norm")
    )
    with torch.inference_mode():
        normed = norm(torch.as_tensor(captured[:, -1])).numpy()
    np.testing.assert_allclose(normed, expected[-1], rtol=1e-4, atol=1e-5)
    assert np.abs(captured[:, -1] - expected[-1]).max() > 1e-2


def test_the_mlp_term_at_bos_is_the_one_that_the_block_adds(loaded: LoadedModel):
    """After any post-norm: leaving it out of the boundary must leave the input and the attention term."""
    ids = tiny_models.texts()
    terms: list[np.ndarray] = []
    handles = [
        block.get_submodule(loaded.family.attention_term).register_forward_hook(
            lambda _m, _i, output: terms.append(
                (output[0] if isinstance(output, tuple) else output)[:, 0].float().numpy()
            )
        )
        for block in loaded.blocks()
    ]
    untouched(loaded, ids)
    for handle in handles:
        handle.remove()
    captured = capture(loaded, ids, boundaries=True)
    streams = captured.boundaries[:, :, 0]
    assert captured.mlp_at_bos.shape == (3, loaded.layers, streams.shape[-1])
    np.testing.assert_allclose(
        streams[:, 1:] - captured.mlp_at_bos, streams[:, :-1] + np.stack(terms, 1), rtol=1e-4, atol=1e-4
    )
    assert np.abs(captured.mlp_at_bos).max() > 1e-2


def test_row_sums_are_measured_before_any_renormalisation(loaded: LoadedModel):
    """The residual is evidence on the dtype: float32 softmax rows sum to 1 within a few rounding errors."""
    residual = capture(loaded, tiny_models.texts()).row_sum_residual
    assert residual.shape == (3, loaded.layers)
    assert residual.max() < 1e-6


def test_a_text_does_not_depend_on_its_neighbours(loaded: LoadedModel):
    """Blocks of texts are computed by different workers; the bits must not depend on the block."""
    ids = tiny_models.texts()
    together, alone = capture(loaded, ids), capture(loaded, ids[2:])
    assert (together.attention[2:] == alone.attention).all()
    assert (together.cross_entropy[2:] == alone.cross_entropy).all()


def test_no_hook_stays_behind(loaded: LoadedModel):
    """A leftover hook would fill arrays of an older call and slow every pass."""

    def hooks() -> list[int]:
        return [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in loaded.model.modules()]

    before = hooks()
    capture(loaded, tiny_models.texts(1), boundaries=True)
    assert hooks() == before


def test_attention_of_a_prefix_is_the_leading_block(tmp_path: Path):
    """Shorter claims take the leading block of the attention at full length instead of another pass."""
    loaded = tiny_models.load(tmp_path)
    ids = tiny_models.texts(1)
    short, whole = capture(loaded, ids[:, :7]), capture(loaded, ids)
    np.testing.assert_allclose(short.attention, whole.attention[..., :28], atol=1e-5)


def test_no_texts_give_empty_arrays(tmp_path: Path):
    """A block behind the last text of a corpus is empty, and so is what it measures."""
    captured = capture(tiny_models.load(tmp_path), tiny_models.texts(0), boundaries=True)
    assert captured.attention.shape == (0, 3, 4, 78)
    assert captured.cross_entropy.shape == (0, 11)


def test_cross_entropy_is_right_for_large_logits():
    """float32 logits of 1e4 overflow a naive exponential, and many rows span several chunks."""
    logits = 1e4 * torch.randn(70, 50, generator=torch.Generator().manual_seed(0))
    targets = torch.arange(70) % 50
    expected = torch.nn.functional.cross_entropy(logits.double(), targets, reduction="none")
    np.testing.assert_allclose(token_cross_entropy(logits, targets), expected, rtol=1e-6, atol=2e-3)
