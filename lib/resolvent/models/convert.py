"""GGUF weights to a directory in Hugging Face format (float32 safetensors), with a check on plain English."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

from resolvent.errors import ResolventError
from resolvent.models.capture import token_cross_entropy
from resolvent.models.load import available_memory, encode, quiet_transformers

PLAIN_ENGLISH = (
    "The House of Commons met on Monday to consider the budget. Members of the opposition asked whether the government "
    "would raise taxes next year, and the minister replied that she had no plans to do so. After the debate, several "
    "members said that the schools and hospitals in their towns needed more money. The vote will be held on Thursday, "
    "and the results are expected in the evening."
)

PERPLEXITY_LIMIT = 200.0
"""Perplexity on plain English above which weights are refused: small trained models reach 10 to 60, random ones 1e4."""


class ConversionError(ResolventError):
    """GGUF weights that cannot be used; the message says what was found."""


def convert_gguf(
    gguf: Path, destination: Path, *, name: str, bos: int, perplexity_limit: float = PERPLEXITY_LIMIT
) -> float:
    """Write the model and tokenizer of a GGUF file to `destination` and return the perplexity on plain English.

    gguf         read by transformers on the CPU, dequantised to float32
    destination  a new folder
    bos          the id before the text
    Raises ConversionError where the file cannot be read, memory is short, or the loaded model fails
    `check_plain_english`.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    # 4-bit weights grow eightfold; tensors are held once as read and once in the model.
    needed = 9 * gguf.stat().st_size
    free = available_memory("cpu")
    if needed > free:
        raise ConversionError(
            f"{name}: dequantising needs about {needed / 2**30:.2f} GiB of memory, {free / 2**30:.2f} GiB are free"
        )
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, local_files_only=True)
            model = AutoModelForCausalLM.from_pretrained(
                gguf.parent,
                gguf_file=gguf.name,
                quantization_config=GgufConfig(dequantize=True),
                dtype=torch.float32,
                attn_implementation="eager",
                local_files_only=True,
            ).eval()
    except Exception as error:  # the readers raise errors of many kinds, bare ones among them
        raise ConversionError(f"{name}: {gguf.name} cannot be read as a model: {error}") from None
    perplexity = check_plain_english(model, tokenizer, name=name, bos=bos, limit=perplexity_limit)
    # The weights are plain float32 by now; what remembers the quantisation makes save_pretrained refuse.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    with quiet_transformers():
        model.save_pretrained(destination)
        tokenizer.save_pretrained(destination)
    return perplexity


def check_plain_english(model: Any, tokenizer: Any, *, name: str, bos: int, limit: float = PERPLEXITY_LIMIT) -> float:
    """The perplexity on plain English.

    Raises ConversionError where it is above `limit`, or where it falls when the query and key rows are reordered:
    llama.cpp stores them interleaved, and left so they load without a word.
    """
    ids = torch.tensor([bos, *encode(tokenizer, PLAIN_ENGLISH)])
    perplexity = _perplexity(model, ids)
    if not perplexity <= limit:
        raise ConversionError(
            f"{name}: perplexity on plain English is {perplexity:.4g}, at most {limit:g} is allowed; "
            "the weights were not read right"
        )
    for interleave in (True, False):
        _reorder_queries_and_keys(model, interleave=interleave)
        reordered = _perplexity(model, ids)
        _reorder_queries_and_keys(model, interleave=not interleave)
        if reordered < perplexity:
            raise ConversionError(
                f"{name}: perplexity on plain English is {perplexity:.4g}, and {reordered:.4g} with query and key rows "
                f"{'interleaved' if interleave else 'de-interleaved'}; the rows were read in the wrong order"
            )
    return perplexity


def _perplexity(model: Any, ids: torch.Tensor) -> float:
    with torch.inference_mode():
        logits = model(ids[None], use_cache=False).logits[0]
        return math.exp(min(700.0, float(token_cross_entropy(logits[:-1], ids[1:]).mean())))


def _reorder_queries_and_keys(model: Any, *, interleave: bool) -> None:
    """Reorder the rows of every q_proj and k_proj within each head: halves to pairs, or back."""
    width = model.config.get_text_config()
    head = getattr(width, "head_dim", None) or width.hidden_size // width.num_attention_heads
    for path, module in model.named_modules():
        if path.endswith(("q_proj", "k_proj")):
            for parameter in module.parameters():
                rows = parameter.data
                split = (-1, 2, head // 2) if interleave else (-1, head // 2, 2)
                parameter.data = rows.reshape(*split, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape).contiguous()
