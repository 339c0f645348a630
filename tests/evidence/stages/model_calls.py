"""Calls of stages that load a model, on a tiny saved one: no store, no engine, inputs made by the stages themselves."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tiny_models

from resolvent.evidence.shards import Call, Result, Shard
from resolvent.models.capture import capture
from resolvent.models.load import LoadedModel, load_directory
from resolvent.models.subjects import Subject, local_subject
from resolvent.study import Study

LENGTH = tiny_models.WINDOW


class TinyStudy:
    """One tiny model and its captures.

    subject, loaded  the model as a subject and in memory
    length           positions of a text
    texts            how many corpus texts there are; the token ids of text i do not depend on it
    """

    def __init__(
        self,
        folder: Path,
        name: str = "llama",
        *,
        texts: int = 8,
        length: int = LENGTH,
        save: Callable[..., Path] = tiny_models.save,
    ) -> None:
        save(folder, name)
        self.length = length
        # Draws are keyed by the name, which must not be that of a temporary folder.
        self.subject: Subject = dataclasses.replace(local_subject(folder), name="tiny")
        self.loaded: LoadedModel = load_directory(folder, self.subject)
        self.study = Study(root=folder, evidence=folder / ".evidence", fetched=folder / ".fetched")
        self.token_ids = tiny_models.texts(64, length)[:texts]
        self._results: dict[tuple[str, str], Result] = {}

    def load(self, shard: Shard) -> Result:
        """The result of a shard, its inputs computed first; what `Engine.load` does."""
        key = (shard.id, shard.params_json())
        if key not in self._results:
            self._results[key] = self._capture(shard) if shard.stage.name == "capture" else self._run(shard)
        return self._results[key]

    def call(self, shard: Shard) -> Call:
        return Call(
            study=self.study,
            subject=self.subject,
            params=shard.params,
            inputs=tuple(self.load(given) for given in shard.inputs),
            seed=7,
            device="cpu",
        )

    def _run(self, shard: Shard) -> Result:
        import importlib

        module, _, name = shard.stage.function.partition(":")
        function: Callable[[Call], Result] = getattr(importlib.import_module(module), name)
        return function(self.call(shard))

    def _capture(self, shard: Shard) -> Result:
        start, stop = shard.params["start"], shard.params["stop"]
        ids = self.token_ids[start:stop]
        captured = capture(self.loaded, ids)
        texts = range(start, start + len(ids))
        return Result(
            {
                "attention": captured.attention,
                "cross_entropy": captured.cross_entropy,
                "row_sum_residual": captured.row_sum_residual,
                "token_ids": ids,
            },
            {
                "start": str(start),
                "length": str(self.length),
                "text_ids": json.dumps([str(100 * text) for text in texts]),
                "passed_over": "[]",
            },
        )


def mean_loss(loaded: LoadedModel, ids: np.ndarray) -> float:
    """Mean cross-entropy of one text by capture, nats."""
    return float(capture(loaded, ids[None]).cross_entropy.mean(dtype=np.float64))
