"""The architectures that can be measured: where their parts are found and how to read their config. Light."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from resolvent.errors import ResolventError


class UnsupportedModel(ResolventError):
    """A model, or a use of one, that is not measured; the message names it and what is supported."""


@dataclass(frozen=True)
class Family:
    """One `model_type` of transformers.

    blocks          path of the list of blocks inside the causal language model
    attention       path inside a block of the module whose second output is the attention map
    attention_term  path inside a block of the module whose output the block adds as its attention term
    mlp_term        the same for its MLP term (after a post-norm where there is one)
    output_projection  path inside a block of the module that mixes the concatenated outputs of the heads
    norm            word for `norm`
    layers, heads   keys of config.json
    learned_positions, partial_rotary  how `positions` is told
    windows         where sliding windows are declared: nowhere, one for all layers, or by `layer_types`
    """

    model_type: str
    blocks: str
    attention: str
    attention_term: str
    mlp_term: str
    norm: Literal["layernorm", "rmsnorm"]
    output_projection: str
    layers: str = "num_hidden_layers"
    heads: str = "num_attention_heads"
    learned_positions: bool = False
    partial_rotary: float = 1.0
    windows: Literal["none", "all", "by_layer"] = "none"


def _llama_like(model_type: str, windows: Literal["none", "all", "by_layer"]) -> Family:
    return Family(
        model_type, "model.layers", "self_attn", "self_attn", "mlp", "rmsnorm", "self_attn.o_proj", windows=windows
    )


FAMILIES: Mapping[str, Family] = {
    family.model_type: family
    for family in (
        Family(
            "gpt2",
            "transformer.h",
            "attn",
            "attn",
            "mlp",
            "layernorm",
            "attn.c_proj",
            "n_layer",
            "n_head",
            learned_positions=True,
        ),
        # partial_rotary: the value of configs that leave it out
        Family(
            "gpt_neox",
            "gpt_neox.layers",
            "attention",
            "post_attention_dropout",
            "post_mlp_dropout",
            "layernorm",
            "attention.dense",
            partial_rotary=0.25,
        ),
        _llama_like("llama", "none"),
        _llama_like("qwen2", "by_layer"),
        _llama_like("qwen3", "by_layer"),
        _llama_like("mistral", "all"),
        Family(
            "gemma3_text",
            "model.layers",
            "self_attn",
            "post_attention_layernorm",
            "post_feedforward_layernorm",
            "rmsnorm",
            "self_attn.o_proj",
            windows="by_layer",
        ),
    )
}


@dataclass(frozen=True)
class Architecture:
    """What a subject declares and a config says: compared when a model is loaded."""

    norm: str
    positions: str
    layers: int
    heads: int


def family_of(config: Mapping[str, Any], *, name: str) -> Family:
    """The family of a config. Raises UnsupportedModel that names the model, its type and the supported ones."""
    model_type = config.get("model_type")
    family = FAMILIES.get(model_type) if isinstance(model_type, str) else None
    if family is None:
        hint = " (its text-only form is gemma3_text)" if model_type == "gemma3" else ""
        raise UnsupportedModel(
            f"{name}: model type '{model_type}' is not supported{hint}; supported are {', '.join(FAMILIES)}"
        )
    if config.get("add_cross_attention") or config.get("use_bidirectional_attention"):
        raise UnsupportedModel(f"{name}: cross-attention and bidirectional attention are not supported")
    return family


def architecture(config: Mapping[str, Any], *, name: str) -> Architecture:
    """norm, positions, layers and heads of a config (config.json, or `to_dict()` of a loaded one).

    Raises UnsupportedModel for another family and ResolventError for a key that is missing.
    """
    family = family_of(config, name=name)
    counts = []
    for key in (family.layers, family.heads):
        value = config.get(key)
        if not isinstance(value, int) or value < 1:
            raise ResolventError(f"{name}: config.json: '{key}' must be a positive integer, found {value!r}")
        counts.append(value)
    return Architecture(norm=family.norm, positions=_positions(family, config), layers=counts[0], heads=counts[1])


def sliding_windows(config: Mapping[str, Any], *, name: str) -> tuple[int | None, ...]:
    """Per layer, how many positions a row can see, itself included; None where it sees all before it.

    config  `to_dict()` of a loaded config, which knows its layer types
    """
    family = family_of(config, name=name)
    layers = config[family.layers]
    window = config.get("sliding_window")
    if family.windows == "none" or window is None:
        return (None,) * layers
    if family.windows == "all":
        return (window,) * layers
    types = config.get("layer_types") or []
    known = {"full_attention", "sliding_attention"}
    if len(types) != layers or not known.issuperset(types):
        raise UnsupportedModel(
            f"{name}: layer_types names {len(types)} of {layers} layers with types {sorted(set(types))}; "
            f"allowed are {sorted(known)}"
        )
    return tuple(window if kind == "sliding_attention" else None for kind in types)


def _positions(family: Family, config: Mapping[str, Any]) -> str:
    if family.learned_positions:
        return "learned"
    rope = config.get("rope_parameters") or {}
    for value in (rope.get("partial_rotary_factor"), config.get("partial_rotary_factor"), config.get("rotary_pct")):
        if value is not None:
            return "rope" if value >= 1 else "rope_partial"
    return "rope" if family.partial_rotary >= 1 else "rope_partial"
