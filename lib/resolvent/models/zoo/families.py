"""Sizes and recipes of the mini families: chosen by formation of circuits and loss, never by a claim's verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from resolvent.errors import ResolventError

CONTEXT = 128
"""Positions of a training row, BOS first."""

VOCABULARY = 1024

BOS_TOKEN = "<|bos|>"

BOS_ID = 0


@dataclass(frozen=True)
class Recipe:
    """What determines the weights of a family, beside the corpus and the versions of torch and transformers.

    model_type         of transformers
    config             what its config is given beside vocabulary, BOS and the absence of dropout
    steps              of the optimiser; the learning rate is zero after the last
    batch              rows a step, each of `CONTEXT` tokens
    learning_rate      of AdamW at its peak: linear rise over the first `warmup` steps, linear to zero over the last
                       `decay`; steps before those do not depend on how many there will be
    weight_decay       of matrices; gains, biases and other vectors have none
    clip               largest norm of the gradient
    repeated_share     share of rows that hold one segment again and again (`batches`)
    checkpoints        how many are kept, from step 0 to the last; 1 = the last alone
    first_checkpoint   step of the second of them
    seed               of the initial weights and of the order of the rows
    """

    model_type: str
    config: Mapping[str, Any]
    steps: int
    batch: int = 16
    learning_rate: float = 2e-3
    warmup: int = 200
    decay: int = 800
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.1
    clip: float = 1.0
    repeated_share: float = 0.15
    checkpoints: int = 1
    first_checkpoint: int = 16
    seed: int = 20261201

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "config": dict(self.config), "betas": list(self.betas)}

    @property
    def tokens_per_step(self) -> int:
        return self.batch * CONTEXT


def checkpoint_steps(recipe: Recipe) -> tuple[int, ...]:
    """The steps after which weights are kept, ascending: 0, then evenly in log(step) from the first to the last.

    Raises ResolventError where the steps do not suffice for so many different checkpoints.
    """
    if recipe.checkpoints == 1:
        return (recipe.steps,)
    intervals = recipe.checkpoints - 2
    if intervals == 0:
        return (0, recipe.steps)
    growth = recipe.steps / recipe.first_checkpoint
    steps = (0, *(round(recipe.first_checkpoint * growth ** (i / intervals)) for i in range(intervals + 1)))
    if len(set(steps)) != recipe.checkpoints or list(steps) != sorted(steps):
        raise ResolventError(
            f"{recipe.checkpoints} checkpoints do not fit between steps {recipe.first_checkpoint} and {recipe.steps}"
        )
    return steps


RECIPES: Mapping[str, Recipe] = {
    # The activation is the family's own, gelu_new, as one fused operation: training takes 0.6 of the time.
    "mini-gpt2": Recipe(
        model_type="gpt2",
        config={
            "n_embd": 144,
            "n_layer": 8,
            "n_head": 12,
            "n_positions": CONTEXT,
            "activation_function": "gelu_pytorch_tanh",
        },
        steps=8_000,
    ),
    # Heads of 16 dimensions: a quarter of them, the family's default, would leave two rotary frequencies.
    "mini-neox": Recipe(
        model_type="gpt_neox",
        config={
            "hidden_size": 128,
            "num_hidden_layers": 6,
            "num_attention_heads": 8,
            "intermediate_size": 512,
            "max_position_embeddings": CONTEXT,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        },
        steps=10_000,
        checkpoints=13,
    ),
    "mini-llama": Recipe(
        model_type="llama",
        config={
            "hidden_size": 144,
            "num_hidden_layers": 8,
            "num_attention_heads": 12,
            "num_key_value_heads": 4,
            "intermediate_size": 384,
            "max_position_embeddings": CONTEXT,
        },
        steps=8_000,
    ),
}


def recipe_of(name: str) -> Recipe:
    """Raises ResolventError that lists the families."""
    if name not in RECIPES:
        raise ResolventError(f"no family '{name}'; known are {', '.join(RECIPES)}")
    return RECIPES[name]
