"""Query and key weights of every head, in one layout whatever the family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.models.families import UnsupportedModel
from resolvent.models.load import LoadedModel

if TYPE_CHECKING:
    from jaxtyping import Float64

    Weights = Float64[np.ndarray, "heads d_head d_model"]


def query_key_weights(loaded: LoadedModel, layer: int) -> tuple[Weights, Weights]:
    """W_Q and W_K of the heads of a layer, each (heads, d_head, d_model) float64.

    With grouped queries a head is given the key weights of its own group. Biases, and the query and key norms of
    families that have them, are not in the weights. Raises UnsupportedModel for a family whose layout is not known.
    """
    attention = loaded.blocks()[layer].get_submodule(loaded.family.attention)
    layout = {"gpt2": _fused_columns, "gpt_neox": _fused_by_head}.get(loaded.family.model_type, _separate)
    query, key = layout(attention, loaded)
    return query, np.repeat(key, len(query) // len(key), axis=0)


def _separate(attention: Any, loaded: LoadedModel) -> tuple[np.ndarray, np.ndarray]:
    """q_proj (heads · d_head, d_model) and k_proj (groups · d_head, d_model)."""
    if not (hasattr(attention, "q_proj") and hasattr(attention, "k_proj")):
        raise UnsupportedModel(f"{loaded.name}: no q_proj and k_proj in {type(attention).__name__}")
    query, key = _array(attention.q_proj.weight), _array(attention.k_proj.weight)
    d_head = len(query) // loaded.heads
    return query.reshape(loaded.heads, d_head, -1), key.reshape(-1, d_head, key.shape[1])


def _fused_columns(attention: Any, loaded: LoadedModel) -> tuple[np.ndarray, np.ndarray]:
    """c_attn maps by x W: columns are all queries, then all keys, then all values."""
    width = attention.split_size
    weight = _array(attention.c_attn.weight).T
    return weight[:width].reshape(loaded.heads, -1, width), weight[width : 2 * width].reshape(loaded.heads, -1, width)


def _fused_by_head(attention: Any, loaded: LoadedModel) -> tuple[np.ndarray, np.ndarray]:
    """query_key_value: for each head its query rows, then its key rows, then its value rows."""
    weight = _array(attention.query_key_value.weight)
    by_head = weight.reshape(loaded.heads, 3, -1, weight.shape[1])
    return by_head[:, 0], by_head[:, 1]


def _array(weight: Any) -> np.ndarray:
    return np.asarray(weight.detach().double().cpu().numpy())
