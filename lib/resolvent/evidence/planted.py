"""Evidence of planted attention: the stages, run in memory on maps that somebody made in place of a model's."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Call, Result, Shard
from resolvent.evidence.stages.capture import CAPTURE
from resolvent.evidence.threads import one_thread

if TYPE_CHECKING:
    from resolvent.models.subjects import Subject
    from resolvent.study import Study


class PlantedError(ResolventError):
    """Planted maps that are no attention, or that lack what a claim asks for."""


class PlantedEvidence:
    """Loads any shard that derives from attention.

    maps      state -> (texts, layers, heads, n, n), causal and stochastic; n the length that the state is captured at
    _results  (stage, params) -> result, so that what several shards read is made once
    """

    def __init__(self, study: Study, subject: Subject, maps: Mapping[str, np.ndarray], *, seed: int) -> None:
        self._study = study
        self._subject = subject
        self._maps = {state: _checked(state, array, subject) for state, array in maps.items()}
        self._seed = seed
        self._results: dict[tuple[str, str], Result] = {}

    def load(self, shard: Shard) -> Result:
        """The shard's result. Raises PlantedError for a state without maps, or for a stage that runs a model."""
        key = (shard.stage.name, shard.params_json())
        if key not in self._results:
            self._results[key] = self._captured(shard) if shard.stage == CAPTURE else self._computed(shard)
        return self._results[key]

    def _computed(self, shard: Shard) -> Result:
        if shard.stage.loads_model:
            raise PlantedError(f"{shard.id} runs a model; planted attention reaches only what is made of attention")
        module, _, name = shard.stage.function.partition(":")
        call = Call(
            study=self._study,
            subject=self._subject,
            params=shard.params,
            inputs=tuple(self.load(given) for given in shard.inputs),
            seed=self._seed,
            device="cpu",
        )
        with one_thread():
            result = getattr(importlib.import_module(module), name)(call)
        assert isinstance(result, Result)
        return result

    def _captured(self, shard: Shard) -> Result:
        """As the capture stage returns it; losses and token ids, which planted attention has none of, are zeros."""
        from resolvent.operators import pack_lower

        state, length = str(shard.params["state"]), int(shard.params["length"])
        if state not in self._maps:
            raise PlantedError(f"no maps of the state '{state}'; planted are {', '.join(self._maps)}")
        start, stop = shard.params["start"], shard.params["stop"]
        maps = self._maps[state][start:stop]
        if maps.shape[-1] != length:
            raise PlantedError(f"maps of '{state}' have n = {maps.shape[-1]}; it is captured at {length}")
        count = len(maps)
        return Result(
            {
                "attention": pack_lower(maps).astype(np.float32),
                "cross_entropy": np.zeros((count, length - 1), dtype=np.float32),
                "row_sum_residual": np.zeros(maps.shape[:3], dtype=np.float32),
                "token_ids": np.zeros((count, length), dtype=np.int64),
            },
            {
                "start": str(start),
                "length": str(length),
                "text_ids": json.dumps([f"planted {start + index}" for index in range(count)]),
                "passed_over": "[]",
            },
        )


def _checked(state: str, array: Any, subject: Subject) -> np.ndarray:
    from resolvent.operators import check_causal_stochastic

    maps = np.asarray(array, dtype=np.float64)
    if maps.ndim != 5 or maps.shape[1:3] != (subject.layers, subject.heads) or maps.shape[3] != maps.shape[4]:
        raise PlantedError(
            f"maps of '{state}' have shape {maps.shape}; allowed: (texts, {subject.layers}, {subject.heads}, n, n)"
        )

    def where(at: tuple[int, ...]) -> str:
        return f"planted {state}, text {at[0]}, layer {at[1]}, head {at[2]}"

    return np.asarray(check_causal_stochastic(maps, where=where))
