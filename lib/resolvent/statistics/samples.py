"""What the tests accept: finite numbers in matching shapes, refused with the shapes or the first bad entry named."""

from __future__ import annotations

import numpy as np

from resolvent.errors import ResolventError


class InvalidSample(ResolventError):
    """Numbers that no test here is defined for; the message names the argument, what was found and what is needed."""


def paired_samples(real: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """real (texts, ...) and draws (draws, texts, ...) as one float64 array (1 + draws, texts, cases), real first."""
    real, draws = np.asarray(real, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    if real.ndim == 0 or draws.shape[1:] != real.shape or 0 in (draws.shape[0], real.shape[0]):
        raise InvalidSample(
            f"real has the shape {real.shape}, draws {draws.shape}; needed are (texts, ...) and (draws, texts, ...) "
            "with at least one text and one draw"
        )
    for name, values in (("real", real), ("draws", draws)):
        if not np.isfinite(values).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise InvalidSample(f"{name}{list(where)} is {values[where]}; every value must be finite")
    values = np.concatenate([real[np.newaxis], draws])
    return values.reshape(*values.shape[:2], -1)


def p_values(p: np.ndarray) -> np.ndarray:
    """p as a float64 array; refused where an entry is NaN or outside [0, 1]."""
    p = np.asarray(p, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        where = tuple(int(i) for i in np.argwhere(~((p >= 0) & (p <= 1)))[0])
        raise InvalidSample(f"p{list(where)} is {p[where]}; a p-value lies in [0, 1]")
    return p


def proper_level(level: float) -> float:
    """The level itself; refused unless 0 < level < 1."""
    if not 0 < level < 1:
        raise InvalidSample(f"level is {level}; it must lie strictly between 0 and 1")
    return level
