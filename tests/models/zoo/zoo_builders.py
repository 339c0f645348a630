"""A small corpus and a small recipe of each model type: seconds of training."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from resolvent.models.zoo.corpus import TrainingCorpus, build_corpus
from resolvent.models.zoo.families import RECIPES, Recipe
from resolvent.models.zoo.sources import Document

_CONFIGS: dict[str, dict[str, Any]] = {
    "mini-gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 128},
    "mini-neox": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32},
    "mini-llama": {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 32,
    },
}


def recipe(name: str = "mini-neox", **changes: Any) -> Recipe:
    """The registered recipe of a family at a hundredth of its size: 20 steps of 4 rows."""
    registered = RECIPES[name]
    small = {"steps": 20, "batch": 4, "warmup": 4, "decay": 8, "first_checkpoint": 2}
    if registered.checkpoints > 1:
        small["checkpoints"] = 4
    return replace(registered, config={**registered.config, **_CONFIGS[name]}, **{**small, **changes})


def documents(count: int = 60, seed: int = 0) -> list[Document]:
    """Made-up long-form texts of a few paragraphs, all different."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 9))) for _ in range(400)]

    def paragraph() -> str:
        return " ".join(chance.choices(words, k=60)).capitalize() + "."

    return [Document(f"made-up:{i}", "\n\n".join(paragraph() for _ in range(3))) for i in range(count)]


def corpus(folder: Path, **changes: Any) -> TrainingCorpus:
    """The corpus of `documents(**changes)`, built in `folder`."""
    return build_corpus(folder, documents(**changes), sources={"made-up": "1"}, report=lambda line: None)
