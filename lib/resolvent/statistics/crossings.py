"""Where a trajectory over checkpoints has made half of its change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.samples import InvalidSample

if TYPE_CHECKING:
    from jaxtyping import Float64, Int64


def first_crossing(values: Float64[np.ndarray, "checkpoints ..."]) -> Int64[np.ndarray, ...]:
    """Index of the first checkpoint with |v_t − v_0| ≥ ½|v_T − v_0|, on either side of v_0; 0 where v_T = v_0.

    Checkpoints along the first axis. Raises InvalidSample for fewer than two of them or a value that is not finite.
    """
    moved, half = _moved(values)
    return np.asarray(np.argmax(moved >= half, axis=0))


def interpolated_crossing(values: Float64[np.ndarray, "checkpoints ..."]) -> Float64[np.ndarray, ...]:
    """The position, in checkpoints, at which the value first is half of |v_T − v_0| away from v_0, linear in between.

    The line is drawn from the checkpoint before `first_crossing` to that one. 0 where v_T = v_0. Raises likewise.
    """
    values = np.asarray(values, dtype=np.float64)
    moved, half = _moved(values)
    at = np.asarray(np.argmax(moved >= half, axis=0))
    before = np.maximum(at - 1, 0)
    here, there = (np.take_along_axis(values, index[None], axis=0)[0] for index in (before, at))
    level = values[0] + np.sign(there - values[0]) * half
    step = there - here
    share = np.divide(level - here, step, out=np.zeros_like(level), where=(at > 0) & (step != 0))
    return np.asarray(before + share)


def sustained_crossing(values: Float64[np.ndarray, "checkpoints ..."]) -> Int64[np.ndarray, ...]:
    """Index of the first checkpoint from which the value stays at or beyond (v_0 + v_T)/2, as seen from v_0.

    0 where v_T = v_0, which has no sides. Raises as `first_crossing` does.
    """
    values = np.asarray(values, dtype=np.float64)
    _moved(values)
    direction = np.sign(values[-1] - values[0])
    # Twice the distance, so that v_T itself is never short of the level by rounding.
    beyond = direction * (2 * values - values[0] - values[-1]) >= 0
    short = ~beyond[::-1]
    return np.asarray(np.where(short.any(axis=0), len(values) - np.argmax(short, axis=0), 0))


CROSSINGS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "first": first_crossing,
    "interpolated": interpolated_crossing,
    "sustained": sustained_crossing,
}
"""By the word of a protocol."""


def crossing(how: str, values: Float64[np.ndarray, "checkpoints ..."]) -> np.ndarray:
    """The crossing that a protocol names. Raises InvalidSample for another word, and as the crossings do."""
    if how not in CROSSINGS:
        raise InvalidSample(f"no crossing '{how}'; allowed are {', '.join(CROSSINGS)}")
    return CROSSINGS[how](values)


def _moved(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|v_t − v_0|, and half of that of the last."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 0 or len(values) < 2:
        raise InvalidSample(f"a trajectory needs at least two checkpoints; found {values.shape}")
    if not np.isfinite(values).all():
        raise InvalidSample("a trajectory must be finite at every checkpoint")
    moved = np.abs(values - values[0])
    return moved, moved[-1] / 2
