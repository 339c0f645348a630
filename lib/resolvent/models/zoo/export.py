"""A trained family in Hugging Face format: float16 weights of its checkpoints, tokenizer, manifest and card."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from resolvent.models.load import LoadedModel, load_directory, quiet_transformers
from resolvent.models.subjects import SubjectEntry, local_subject
from resolvent.models.zoo.card import training_card
from resolvent.models.zoo.circuits import circuits
from resolvent.models.zoo.corpus import TrainingCorpus
from resolvent.models.zoo.families import BOS_ID, BOS_TOKEN, CONTEXT, Recipe, checkpoint_steps
from resolvent.models.zoo.packaged import CARD, write_manifest
from resolvent.models.zoo.training import TrainingError, checkpoint_file, load_weights, new_model


def export(name: str, recipe: Recipe, corpus: TrainingCorpus, run: Path, folder: Path) -> str:
    """Write the finished run of a family to `folder` and return the SHA-256 of its manifest.

    run     where `train` has trained it
    folder  replaced as a whole, when everything is written
    Raises TrainingError where a checkpoint is missing.
    """
    steps = checkpoint_steps(recipe)
    missing = [step for step in steps if not checkpoint_file(run, step).is_file()]
    if missing:
        raise TrainingError(f"{run}: no checkpoint of step {', '.join(map(str, missing))}; train {name} to its end")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as workspace:
        ready = Path(workspace) / "ready"
        for step in steps:
            _write_step(recipe, corpus, checkpoint_file(run, step), ready / f"step{step}")
        loaded = _load(name, ready / f"step{steps[-1]}")
        formed = circuits(loaded, corpus.validation, seed=recipe.seed)
        card = training_card(name, recipe, run, formed, parameters=loaded.model.num_parameters())
        (ready / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8", newline="\n")
        digest = write_manifest(ready)
        if folder.exists():
            folder.rename(Path(workspace) / "replaced")
        shutil.move(ready, folder)
    return digest


def _write_step(recipe: Recipe, corpus: TrainingCorpus, weights: Path, folder: Path) -> None:
    import torch
    from transformers import PreTrainedTokenizerFast

    model = new_model(recipe)
    model.load_state_dict(load_weights(weights))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(corpus.tokenizer),
        bos_token=BOS_TOKEN,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    with quiet_transformers():
        model.to(torch.float16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    for path in folder.iterdir():
        # save_pretrained makes weights private.
        path.chmod(0o644)


def _load(name: str, folder: Path) -> LoadedModel:
    subject = local_subject(folder, name=name, overrides=SubjectEntry(local=str(folder), bos=BOS_ID))
    return load_directory(folder, subject)
