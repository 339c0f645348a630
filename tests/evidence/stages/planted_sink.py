"""A small Llama with a planted massive activation: one MLP writes it at BOS, and all later heads go to BOS.

Token 0 is BOS. Dim `FLAG` of its embedding is set for BOS alone; the MLP of layer `EMERGES` turns the flag into SIZE
in dim `MASSIVE`; from there on every key reads that dim, every query reads a dim that is the same for all tokens.
FLAG and ALWAYS are dims that the random controls of the tests' seed leave alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from resolvent.models.load import LoadedModel

EMERGES, MASSIVE, FLAG, ALWAYS = 1, 7, 9, 10
SIZE = 4000.0


def plant(loaded: LoadedModel) -> None:
    """Changes the weights of a tiny Llama in place."""
    model: Any = loaded.model.model
    with torch.no_grad():
        embedding = model.embed_tokens.weight
        embedding *= 0.2 / embedding.std()
        embedding[:, FLAG] = 0
        embedding[:, MASSIVE] *= 0.1
        embedding[:, ALWAYS] = 1.0
        embedding[0] = 0
        embedding[0, MASSIVE] = 0.01
        embedding[0, FLAG], embedding[0, ALWAYS] = 4.0, 1.0
        for layer, block in enumerate(model.layers):
            for norm in (block.input_layernorm, block.post_attention_layernorm):
                norm.weight.fill_(1.0)
            for projection in (block.self_attn.o_proj, block.mlp.down_proj):
                projection.weight *= 0.3 / projection.weight.std() / projection.weight.shape[1] ** 0.5
                projection.weight[[FLAG, ALWAYS]] = 0
                projection.weight[MASSIVE] *= 0.01
            for projection in (block.self_attn.q_proj, block.self_attn.k_proj):
                projection.weight *= 0.1 / projection.weight.std()
                projection.weight[:, [FLAG, MASSIVE, ALWAYS]] = 0
            block.mlp.gate_proj.weight[:, FLAG] = 0
            block.mlp.up_proj.weight[:, FLAG] = 0
            if layer == EMERGES:
                block.mlp.gate_proj.weight[0] = 0
                block.mlp.up_proj.weight[0] = 0
                block.mlp.gate_proj.weight[0, FLAG] = 2.0
                block.mlp.up_proj.weight[0, FLAG] = 2.0
                block.mlp.down_proj.weight[:, 0] = 0
                block.mlp.down_proj.weight[MASSIVE, 0] = SIZE / 80
            if layer > EMERGES:
                _attend(block.self_attn, loaded.heads)


def _attend(attention: Any, heads: int) -> None:
    """Slow rotary pairs, so that the pull towards BOS does not depend on the distance."""
    width = attention.q_proj.weight.shape[0] // heads
    slow = width // 2 - 1
    for head in range(heads):
        attention.q_proj.weight[head * width + slow, ALWAYS] = 2.0
    for group in range(attention.k_proj.weight.shape[0] // width):
        attention.k_proj.weight[group * width + slow, MASSIVE] = 4.0


def save_planted(folder: Path, _name: str = "llama") -> Path:
    """A tiny Llama of five layers with the plant, saved as a user's own model."""
    import tiny_models

    loaded = tiny_models.load(folder, "llama", num_hidden_layers=5, rope_theta=1e6)
    plant(loaded)
    loaded.model.save_pretrained(folder)
    return folder
