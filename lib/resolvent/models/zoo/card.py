"""The training card: everything that determined a family's weights, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from resolvent.models.zoo.circuits import Circuits
from resolvent.models.zoo.families import Recipe, checkpoint_steps
from resolvent.models.zoo.training import loss_curve, run_facts

CHOICE = (
    "Size and recipe were chosen by the formation of circuits and by the loss alone, before any claim was run on the "
    "family, and never by a claim's verdict. `circuits` is measured on held-out rows of the training corpus and on "
    "repeats of random tokens, at the last checkpoint only, not on the texts of a claim."
)

CORPUS = (
    "The docstrings, other long strings and descriptions of the installed distributions named in `corpus.sources`, at "
    "the versions of constraints.txt, in alphabetical order of distribution, path and line; paragraphs that occurred "
    "before are left out. Rows are 127 consecutive tokens behind BOS; every 64th row is held out. "
    "`corpus.tokens_sha256` is the data hash: little-endian 16-bit token ids of the whole corpus."
)

REPEATS = (
    "`recipe.repeated_share` of the rows hold one segment of 8 to 63 tokens again and again until the row is full: "
    "half of them a segment of the corpus row in its place, half of tokens drawn uniformly from the vocabulary."
)

DETERMINISM = (
    "Equal recipe, corpus, versions, thread count and kind of processor give equal weights, however often the run was "
    "interrupted. Another kind of processor rounds differently: the losses then agree and the bits do not."
)


def training_card(name: str, recipe: Recipe, run: Path, formed: Circuits, *, parameters: int) -> dict[str, Any]:
    """The card of a finished run, JSON-able.

    Losses are nats a token: `loss_curve.training` averaged over the steps since the entry before, `validation` on
    held-out rows. Raises TrainingError where the run has no record.
    """
    facts = run_facts(run)
    curve = loss_curve(run)
    validation = dict(curve.validation)
    return {
        "family": name,
        "choice": CHOICE,
        "parameters": parameters,
        "recipe": facts["recipe"],
        "repeats": REPEATS,
        "about_corpus": CORPUS,
        "corpus": facts["corpus"],
        "tokens_per_step": recipe.tokens_per_step,
        "tokens_seen": recipe.steps * recipe.tokens_per_step,
        "checkpoints": [
            {"step": step, "tokens": step * recipe.tokens_per_step, "validation_loss": validation[step]}
            for step in checkpoint_steps(recipe)
        ],
        "circuits": formed.to_json(),
        "threads": facts["threads"],
        "device": facts["device"],
        "versions": facts["versions"],
        "about_determinism": DETERMINISM,
        "loss_curve": {"training": curve.training, "validation": curve.validation},
    }
