"""A tiny llama that knows one English text by heart, as a GGUF file of the kind llama.cpp writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tiny_models
import torch

from resolvent.models.convert import PLAIN_ENGLISH
from resolvent.models.load import encode

LAYERS, WIDTH, HEADS, KEY_HEADS, INNER = 2, 64, 4, 2, 96


def trained_llama() -> Any:
    """A model trained on PLAIN_ENGLISH until its attention matters: a few seconds."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(
        tiny_models.config(
            "llama",
            num_hidden_layers=LAYERS,
            hidden_size=WIDTH,
            intermediate_size=INNER,
            max_position_embeddings=512,
            initializer_range=0.05,
            tie_word_embeddings=False,
        )
    )
    ids = torch.tensor([[tiny_models.BOS, *encode(tiny_models.tokenizer(), PLAIN_ENGLISH)]])
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3)
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(model(ids).logits[0, :-1], ids[0, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def write_gguf(path: Path, model: Any, *, interleaved: bool = True) -> Path:
    """The model as float32 GGUF.

    interleaved  query and key rows in llama.cpp's order, as a converter must write them; False: as transformers has
                 them, which every reader then takes for interleaved
    """
    import gguf

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(model.config.rms_norm_eps)
    writer.add_vocab_size(tiny_models.VOCABULARY)
    vocabulary = tiny_models.tokenizer().get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 3 + [1] * (len(tokens) - 3))
    writer.add_token_merges(["Q Z"])
    writer.add_bos_token_id(tiny_models.BOS)
    writer.add_eos_token_id(tiny_models.BOS)
    names = {
        "model.embed_tokens": "token_embd",
        "model.norm": "output_norm",
        "lm_head": "output",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for key, tensor in model.state_dict().items():
        own = key.removesuffix(".weight")
        prefix = ""
        if own.startswith("model.layers."):
            layer, _, own = own.removeprefix("model.layers.").partition(".")
            prefix = f"blk.{layer}."
        value = tensor.numpy().astype(np.float32)
        heads = {"self_attn.q_proj": HEADS, "self_attn.k_proj": KEY_HEADS}.get(own)
        if heads is not None and interleaved:
            value = value.reshape(heads, 2, -1, WIDTH).swapaxes(1, 2).reshape(value.shape)
        writer.add_tensor(f"{prefix}{names[own]}.weight", np.ascontiguousarray(value))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
