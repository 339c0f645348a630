"""Small random models of every family, saved as a user would have them: a directory in Hugging Face format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from resolvent.models.load import LoadedModel, load_directory
from resolvent.models.subjects import local_subject

BOS = 0
VOCABULARY = 260
WINDOW = 12
"""Sliding window of the families that have one; equal to the usual text length, so that nothing is hidden."""

_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
    "bos_token_id": BOS,
    "eos_token_id": BOS,
    "pad_token_id": BOS,
}
_FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": (
        "GPT2Config",
        {
            "n_embd": 32,
            "n_layer": 3,
            "n_head": 4,
            "n_positions": 64,
            "vocab_size": VOCABULARY,
            "initializer_range": 0.3,
        },
    ),
    "gpt_neox": ("GPTNeoXConfig", {"use_parallel_residual": True}),
    "gpt_neox_sequential": ("GPTNeoXConfig", {"use_parallel_residual": False}),
    "llama": ("LlamaConfig", {}),
    "qwen2": (
        "Qwen2Config",
        {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1},
    ),
    "qwen3": ("Qwen3Config", {"head_dim": 8}),
    "mistral": ("MistralConfig", {"sliding_window": WINDOW, "head_dim": 8}),
    "gemma3_text": (
        "Gemma3TextConfig",
        {
            "head_dim": 8,
            "sliding_window": WINDOW,
            "final_logit_softcapping": 5.0,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        },
    ),
}
NAMES = tuple(_FAMILIES)


def tokenizer() -> Any:
    """One id a byte, behind <|endoftext|> (0), which is BOS, and two more special tokens; last the one merge, QZ."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    specials = ["<|endoftext|>", "<|one|>", "<|two|>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*specials, *letters, "QZ"])}
    backend = Tokenizer(models.BPE(vocabulary, [("Q", "Z")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True) for token in specials])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<|endoftext|>", eos_token="<|endoftext|>")


def config(name: str, **changes: Any) -> Any:
    """The transformers config of one of NAMES."""
    import transformers

    class_name, own = _FAMILIES[name]
    sizes = {} if name == "gpt2" else _SIZES
    return getattr(transformers, class_name)(**{**sizes, **own, **changes})


def save(folder: Path, name: str = "llama", **changes: Any) -> Path:
    """A random model of one of NAMES with its tokenizer, saved in `folder`."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(7)
    model = AutoModelForCausalLM.from_config(config(name, **changes))
    # Norms and biases start as ones and zeros, which would hide a forgotten one.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def load(folder: Path, name: str = "llama", **changes: Any) -> LoadedModel:
    """`save`, then loaded as a user's own model."""
    return load_directory(save(folder, name, **changes), local_subject(folder))


def texts(count: int = 3, n: int = WINDOW) -> np.ndarray:
    """Token ids (count, n): BOS and random ordinary ids."""
    ids = np.random.default_rng(3).integers(3, VOCABULARY, (count, n))
    ids[:, 0] = BOS
    return ids
