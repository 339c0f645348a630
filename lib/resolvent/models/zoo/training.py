"""Training of a mini family: deterministic given recipe, corpus, versions and thread count; resumable at any step."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from safetensors.torch import load_file, save_file

from resolvent.errors import ResolventError
from resolvent.models.load import quiet_transformers
from resolvent.models.zoo.batches import Batches
from resolvent.models.zoo.corpus import TrainingCorpus
from resolvent.models.zoo.families import BOS_ID, VOCABULARY, Recipe, checkpoint_steps

SAVE_SECONDS = 120.0
"""Between two saves of the state that training resumes from."""

LOG_EVERY = 50
"""Steps over which the training loss is averaged for the loss curve."""

VALIDATE_EVERY = 500

VALIDATION_ROWS = 512

_STATE, _LOSSES, _RUN, _LOCK = "state.pt", "losses.json", "run.json", ".lock"


class TrainingError(ResolventError):
    """A training folder that is in use or of another run, or a loss that is not finite."""


@dataclass(frozen=True)
class Progress:
    """Told after every step.

    step              steps done
    steps             of the whole training
    loss              training loss of the last step, nats a token
    tokens_per_second since the start of this process
    """

    step: int
    steps: int
    loss: float
    tokens_per_second: float


def new_model(recipe: Recipe) -> Any:
    """The family with its initial weights: transformers' own initialisation at the recipe's seed, float32, no dropout.

    The global generator of torch is left as it was.
    """
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        recipe.model_type,
        vocab_size=VOCABULARY,
        bos_token_id=BOS_ID,
        eos_token_id=None,
        **_without_dropout(recipe.model_type),
        **recipe.config,
    )
    with torch.random.fork_rng(devices=[]), quiet_transformers():
        torch.manual_seed(recipe.seed)
        return AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="sdpa")


def train(
    recipe: Recipe,
    corpus: TrainingCorpus,
    folder: Path,
    *,
    threads: int = 1,
    device: str = "cpu",
    progress: Callable[[Progress], object] | None = None,
    stop_after: int | None = None,
    save_seconds: float = SAVE_SECONDS,
) -> bool:
    """Train, or go on with, the run in `folder`; whether it is complete.

    folder      afterwards: checkpoints/step<N>.safetensors (float32), losses.json, run.json
    threads     of torch; part of what determines the weights, so a run keeps to one number
    stop_after  leave off after so many steps of the whole training
    A run that is killed goes on from its last save and ends with the same bits as an undisturbed one.
    Raises TrainingError where the folder is in use, or holds a run of another recipe, corpus or thread count.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / _LOCK, timeout=0), _torch_threads(threads):
            run = _Run(recipe, corpus, folder, threads=threads, device=device)
            run.resume()
            return run.go(progress, stop_after=stop_after, save_seconds=save_seconds)
    except Timeout:
        raise TrainingError(f"{folder}: another process trains here") from None


def checkpoint_file(folder: Path, step: int) -> Path:
    """Where a run keeps the weights after `step` steps."""
    return folder / "checkpoints" / f"step{step}.safetensors"


@dataclass(frozen=True)
class LossCurve:
    """steps and nats a token: the training loss averaged over the steps before, and the loss on held-out rows."""

    training: list[tuple[int, float]]
    validation: list[tuple[int, float]]


def loss_curve(folder: Path) -> LossCurve:
    """Of a run. Raises TrainingError where there is none."""
    try:
        found = json.loads((folder / _LOSSES).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingError(f"{folder}: no readable loss curve: {error}") from None
    return LossCurve(
        training=[(int(step), float(loss)) for step, loss in found["training"]],
        validation=[(int(step), float(loss)) for step, loss in found["validation"]],
    )


def run_facts(folder: Path) -> dict[str, Any]:
    """What determined a run, beside the code: recipe, corpus, threads, device, versions."""
    try:
        return dict(json.loads((folder / _RUN).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise TrainingError(f"{folder}: no readable run: {error}") from None


def learning_rate(recipe: Recipe, step: int) -> float:
    """At a step from 0: a linear rise, a plateau, and a linear fall that would reach zero after the last step."""
    rise = (step + 1) / recipe.warmup
    fall = (recipe.steps - step) / (recipe.decay + 1)
    return recipe.learning_rate * min(1.0, rise, fall)


class _Run:
    """A training run in memory.

    step      steps done
    losses    of the steps since the last entry of the curve
    curve     what losses.json holds
    """

    def __init__(self, recipe: Recipe, corpus: TrainingCorpus, folder: Path, *, threads: int, device: str) -> None:
        self._recipe = recipe
        self._folder = folder
        self._device = device
        self._facts = {
            "recipe": recipe.to_json(),
            "corpus": corpus.facts.to_json(),
            "threads": threads,
            "device": device.partition(":")[0],
            "versions": _versions(),
        }
        self._kept = checkpoint_steps(recipe)
        self._batches = Batches(recipe, corpus.training)
        self._validation = torch.as_tensor(_with_bos(corpus.validation[:VALIDATION_ROWS]), device=device)
        self._model = new_model(recipe).to(device).train()
        self._optimizer = _optimizer(self._model, recipe)
        self.step = 0
        self.losses: list[float] = []
        self.curve: dict[str, list[list[float]]] = {"training": [], "validation": []}

    def resume(self) -> None:
        recorded = self._folder / _RUN
        if not recorded.is_file():
            _write_json(recorded, self._facts)
        else:
            _check_same(self._folder, run_facts(self._folder), self._facts)
        if (self._folder / _STATE).is_file():
            state = torch.load(self._folder / _STATE, map_location=self._device, weights_only=True)
            self._model.load_state_dict(state["model"])
            self._optimizer.load_state_dict(state["optimizer"])
            self.step, self.losses, self.curve = state["step"], state["losses"], state["curve"]
        else:
            self._keep()

    def go(self, progress: Callable[[Progress], object] | None, *, stop_after: int | None, save_seconds: float) -> bool:
        recipe = self._recipe
        last = recipe.steps if stop_after is None else min(stop_after, recipe.steps)
        started, first, saved = time.monotonic(), self.step, time.monotonic()
        while self.step < last:
            loss = self._train_step()
            self._keep()
            now = time.monotonic()
            if now - saved > save_seconds:
                self._save()
                saved = now
            if progress is not None:
                rate = (self.step - first) * recipe.tokens_per_step / max(now - started, 1e-9)
                progress(Progress(self.step, recipe.steps, loss, rate))
        self._save()
        return self.step == recipe.steps

    def _train_step(self) -> float:
        recipe = self._recipe
        ids = torch.as_tensor(self._batches.batch(self.step), device=self._device)
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(recipe, self.step)
        loss = _loss(self._model, ids)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), recipe.clip)
        self._optimizer.step()
        self.step += 1
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(f"{self._folder}: the loss is {value} at step {self.step}")
        self.losses.append(value)
        if self.step % LOG_EVERY == 0 or self.step == recipe.steps:
            self.curve["training"].append([self.step, round(float(np.mean(self.losses)), 5)])
            self.losses = []
        return value

    def _keep(self) -> None:
        """The checkpoint and the validation loss, where the step is one for them."""
        if self.step in self._kept or self.step % VALIDATE_EVERY == 0:
            self.curve["validation"].append([self.step, round(self._validation_loss(), 5)])
        if self.step in self._kept:
            target = checkpoint_file(self._folder, self.step)
            target.parent.mkdir(exist_ok=True)
            weights = {
                name: tensor.detach().cpu().clone().contiguous() for name, tensor in self._model.state_dict().items()
            }
            temporary = target.with_suffix(".part")
            save_file(weights, temporary, metadata={"format": "pt"})
            os.replace(temporary, target)

    def _validation_loss(self) -> float:
        self._model.eval()
        with torch.inference_mode():
            parts = [_loss(self._model, rows).double() for rows in self._validation.split(self._recipe.batch)]
            sizes = [len(rows) for rows in self._validation.split(self._recipe.batch)]
        self._model.train()
        return float(sum(float(part) * size for part, size in zip(parts, sizes, strict=True)) / sum(sizes))

    def _save(self) -> None:
        state = {
            "step": self.step,
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "losses": self.losses,
            "curve": self.curve,
        }
        temporary = self._folder / f"{_STATE}.part"
        with temporary.open("wb") as stream:
            torch.save(state, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, self._folder / _STATE)
        _write_json(self._folder / _LOSSES, self.curve)


def load_weights(file: Path) -> dict[str, torch.Tensor]:
    """The float32 weights of a checkpoint of a run."""
    return dict(load_file(file))


def _loss(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy in nats of every token after the first."""
    logits = model(ids, use_cache=False).logits[:, :-1]
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))


def _optimizer(model: Any, recipe: Recipe) -> torch.optim.Optimizer:
    matrices = [parameter for parameter in model.parameters() if parameter.ndim >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": recipe.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=recipe.betas, fused=True)


def _without_dropout(model_type: str) -> dict[str, float]:
    return {
        "gpt2": {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
        "gpt_neox": {"attention_dropout": 0.0, "hidden_dropout": 0.0},
    }.get(model_type, {"attention_dropout": 0.0})


def _with_bos(rows: np.ndarray) -> np.ndarray:
    ids = np.full((len(rows), rows.shape[1] + 1), BOS_ID, dtype=np.int64)
    ids[:, 1:] = rows
    return ids


def _versions() -> dict[str, str]:
    import platform

    import numpy
    import tokenizers
    import transformers

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
        "numpy": numpy.__version__,
    }


def _check_same(folder: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    wanted = json.loads(json.dumps(wanted))
    for key, value in wanted.items():
        if found.get(key) != value:
            raise TrainingError(
                f"{folder}: a run with another {key} lies here ({_difference(found.get(key), value)}); "
                "go on with that one, or give another folder"
            )


def _difference(found: Any, wanted: Any) -> str:
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in wanted:
            if found.get(key) != wanted[key]:
                return f"{key}: {_difference(found.get(key), wanted[key])}"
    return f"{found} there, {wanted} now"


def _write_json(path: Path, value: Any) -> None:
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, path)


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
