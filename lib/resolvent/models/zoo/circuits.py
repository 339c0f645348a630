"""Which circuits a trained family has formed: what a recipe is chosen by, beside the loss.

Measured on held-out rows of the training corpus and on repeats of random tokens, never on the texts of a claim.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from resolvent.keyed_random import generator
from resolvent.models.capture import capture
from resolvent.models.load import LoadedModel
from resolvent.models.zoo.families import BOS_ID, CONTEXT, VOCABULARY
from resolvent.operators import structure, unpack_lower

TEXTS = 8

REPEAT = 60
"""Tokens of a repeated segment."""


@dataclass(frozen=True)
class Circuits:
    """Medians over `TEXTS` texts, then over heads as said.

    previous_token_score    largest of a head: mean attention to the token before, held-out rows
    induction_score         largest of a head: mean attention of second-copy positions to the token after their first
                            occurrence, repeats of random tokens
    induction_heads         heads whose induction score is at least 0.4
    previous_token_heads    heads whose previous-token score is at least 0.5
    sink_heads              heads whose BOS mass on held-out rows is at least 0.5
    bos_mass_of_induction   BOS mass on held-out rows of the head with the largest induction score
    median_bos_mass         over heads, held-out rows
    massive_ratio           largest |x| at BOS over the median |x| of the boundary, largest over boundaries
    repeat_loss_drop        mean cross-entropy of the first copy minus that of the second without its first token, nats
    """

    previous_token_score: float
    induction_score: float
    induction_heads: int
    previous_token_heads: int
    sink_heads: int
    bos_mass_of_induction: float
    median_bos_mass: float
    massive_ratio: float
    repeat_loss_drop: float

    def to_json(self) -> dict[str, Any]:
        return {name: round(value, 4) for name, value in asdict(self).items()}


def circuits(loaded: LoadedModel, held_out: np.ndarray, *, seed: int) -> Circuits:
    """The circuits of a model of the zoo.

    held_out  token ids of rows without BOS; the first `TEXTS` are read
    """
    rows = np.full((TEXTS, CONTEXT), BOS_ID, dtype=np.int64)
    rows[:, 1:] = held_out[:TEXTS]
    segments = [
        1 + generator(seed, "circuits", index).choice(VOCABULARY - 1, REPEAT, replace=False) for index in range(TEXTS)
    ]
    probes = np.array([[BOS_ID, *segment, *segment] for segment in segments], dtype=np.int64)
    ordinary = capture(loaded, rows, boundaries=True)
    repeated = capture(loaded, probes)
    measured = structure(unpack_lower(ordinary.attention, CONTEXT))
    previous, bos = (
        np.median(values, axis=0).reshape(-1) for values in (measured.previous_token_mass, measured.bos_mass)
    )
    second = np.arange(REPEAT + 1, 2 * REPEAT + 1)
    maps = unpack_lower(repeated.attention, 2 * REPEAT + 1)
    induction = np.median(maps[..., second, second - REPEAT + 1].mean(axis=-1), axis=0).reshape(-1)
    assert ordinary.boundaries is not None
    sizes = np.abs(ordinary.boundaries)
    ratio = sizes[:, :, 0].max(axis=-1) / np.median(sizes, axis=(2, 3))
    loss = repeated.cross_entropy
    drop = loss[:, :REPEAT].mean(axis=1) - loss[:, REPEAT + 1 :].mean(axis=1)
    return Circuits(
        previous_token_score=float(previous.max()),
        induction_score=float(induction.max()),
        induction_heads=int((induction >= 0.4).sum()),
        previous_token_heads=int((previous >= 0.5).sum()),
        sink_heads=int((bos >= 0.5).sum()),
        bos_mass_of_induction=float(bos[induction.argmax()]),
        median_bos_mass=float(np.median(bos)),
        massive_ratio=float(np.median(ratio.max(axis=1))),
        repeat_loss_drop=float(np.median(drop)),
    )
