"""The residual stage: columns of the stream that capture takes, text by text."""

from __future__ import annotations

import numpy as np
import pytest
from model_calls import LENGTH, TinyStudy

from resolvent.evidence.stages.common import Block
from resolvent.evidence.stages.residual import residual_shard
from resolvent.models.capture import capture


@pytest.fixture(scope="module", params=["llama", "gpt_neox", "gemma3_text"])
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TinyStudy:
    return TinyStudy(tmp_path_factory.mktemp("tiny"), request.param, texts=10)


def shard(block: Block, length: int = LENGTH):
    return residual_shard("tiny", block, state="corpus", length=length, repeat=None)


def test_columns_are_those_of_the_stream(tiny: TinyStudy):
    """Against sums written out over one text and one boundary."""
    arrays = tiny.load(shard(Block(0, 0, 8))).arrays
    streams = capture(tiny.loaded, tiny.token_ids[:8], boundaries=True).boundaries.astype(np.float64)
    text, boundary = 5, 2
    X = streams[text, boundary]
    norms = np.sqrt((X**2).sum(axis=1))
    p = np.linalg.svd(X, compute_uv=False) ** 2 / (X**2).sum()
    expected = {
        "median_magnitude": np.median(np.abs(X)),
        "bos_norm": norms[0],
        "median_norm": np.median(norms[1:]),
        "largest_norm": norms[1:].max(),
        "entropy_bits": -(p * np.log2(p)).sum(),
        "entropy_share": -(p * np.log2(p)).sum() / np.log2(LENGTH),
        "anisotropy": p[0],
    }
    for name, value in expected.items():
        assert arrays[name].shape == (8, tiny.loaded.layers + 1), name
        assert arrays[name][text, boundary] == pytest.approx(value, rel=1e-5), name
    np.testing.assert_allclose(arrays["bos_magnitude"], np.abs(streams[:, :, 0]), rtol=1e-6)
    assert (arrays["entropy_bits"] <= arrays["entropy_bound_bits"] + 1e-9).all()
    assert (arrays["anisotropy"] >= arrays["anisotropy_bound"] - 1e-9).all()
    assert arrays["text"].tolist() == list(range(8))


def test_the_norm_without_the_mlp_is_that_of_a_block_without_one(tiny: TinyStudy):
    """Layer l's own MLP at BOS left out of boundary l + 1, whatever became of it further up."""
    arrays = tiny.load(shard(Block(0, 0, 8))).arrays
    layer, text = 1, 3
    module = tiny.loaded.blocks()[layer].get_submodule(tiny.loaded.family.mlp_term)

    def without_bos(_module: object, _inputs: object, output: object) -> object:
        changed = output.clone()
        changed[:, 0] = 0
        return changed

    handle = module.register_forward_hook(without_bos)
    streams = capture(tiny.loaded, tiny.token_ids[text : text + 1], boundaries=True).boundaries
    handle.remove()
    expected = np.linalg.norm(streams[0, layer + 1, 0])
    assert arrays["bos_norm_without_mlp"].shape == (8, tiny.loaded.layers)
    assert arrays["bos_norm_without_mlp"][text, layer] == pytest.approx(expected, rel=1e-5)
    assert arrays["bos_norm"][text, layer + 1] != pytest.approx(expected, rel=1e-2)


def test_a_block_begins_where_it_says(tiny: TinyStudy):
    """Texts 9 and 10 of a corpus of ten: one is there, under its own number and loss."""
    result = tiny.load(shard(Block(8, 9, 11)))
    assert result.arrays["text"].tolist() == [9]
    assert result.metadata["text_ids"] == '["900"]'
    loss = capture(tiny.loaded, tiny.token_ids[9:]).cross_entropy.mean()
    assert result.arrays["cross_entropy"] == pytest.approx([loss], rel=1e-6)


def test_a_shorter_length_is_the_leading_part(tiny: TinyStudy):
    """A causal prefix: the stream at its positions, and no other position in the medians."""
    short, whole = tiny.load(shard(Block(0, 0, 8), 6)).arrays, tiny.load(shard(Block(0, 0, 8))).arrays
    np.testing.assert_allclose(short["bos_norm"], whole["bos_norm"], rtol=1e-5)
    assert short["token_ids"].shape == (8, 6)
    assert np.abs(short["median_norm"] / whole["median_norm"] - 1).max() > 1e-3


def test_no_texts_make_empty_arrays(tiny: TinyStudy):
    """A block behind the last text."""
    arrays = tiny.load(shard(Block(16, 16, 24))).arrays
    assert len(arrays["text"]) == 0
    assert arrays["entropy_bits"].shape == (0, tiny.loaded.layers + 1)
