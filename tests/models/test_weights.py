"""Query and key weights give back the model's own attention where nothing else enters it."""

from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch

from resolvent.models.capture import capture
from resolvent.models.weights import query_key_weights
from resolvent.operators import unpack_lower


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "gpt_neox_sequential", "llama", "qwen2", "mistral"])
def test_scores_are_bilinear_in_the_weights(tmp_path: Path, name: str) -> None:
    """log a_ij - log a_ik = x_i W_Q^T W_K (x_j - x_k) / sqrt d_head: a wrong slice or group would break it."""
    loaded = tiny_models.load(tmp_path, name)
    with torch.no_grad():
        for path, tensor in [*loaded.model.named_parameters(), *loaded.model.named_buffers()]:
            # Without biases and rotation the score is the bilinear form alone.
            if "inv_freq" in path or ("bias" in path and "norm" not in path and "ln_" not in path):
                tensor.zero_()
    layer = 1
    attention = loaded.blocks()[layer].get_submodule(loaded.family.attention)
    seen = []
    handle = attention.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(args[0] if args else kwargs["hidden_states"]), with_kwargs=True
    )
    ids = tiny_models.texts(1)
    maps = unpack_lower(capture(loaded, ids).attention[0, layer], ids.shape[1])
    handle.remove()
    stream = seen[0][0].double().numpy()
    query, key = query_key_weights(loaded, layer)
    assert query.shape == key.shape == (loaded.heads, query.shape[1], stream.shape[1])
    for head in range(loaded.heads):
        scores = stream @ query[head].T @ key[head] @ stream.T / np.sqrt(query.shape[1])
        for i in range(1, len(stream)):
            expected = scores[i, : i + 1] - scores[i, 0]
            found = np.log(maps[head, i, : i + 1]) - np.log(maps[head, i, 0])
            np.testing.assert_allclose(found, expected, atol=2e-4)


@pytest.mark.parametrize("name", ["qwen3", "gemma3_text"])
def test_every_family_has_weights_of_every_head(tmp_path: Path, name: str) -> None:
    """Their query and key norms are outside the weights; the layout is that of the grouped families."""
    loaded = tiny_models.load(tmp_path, name)
    query, key = query_key_weights(loaded, 0)
    assert query.shape == key.shape == (4, 8, 32)
    np.testing.assert_array_equal(key[0], key[1])
    assert not np.array_equal(key[1], key[2])
