"""Sink scores: how much attention a position receives (definitions §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from resolvent.errors import ResolventError

if TYPE_CHECKING:
    from jaxtyping import Float


def sink_scores(
    maps: Float[np.ndarray, "... n n"], position: int = 0, *, q_min: int | None = None
) -> Float[np.ndarray, " ..."]:
    """Mean attention to column `position` over the rows that see it, or over rows ≥ q_min where that is later.

    Row 0 counts for position 0, where it is 1 whatever was learned. Raises ResolventError where no row is left.
    """
    n = maps.shape[-1]
    first = max(position, q_min or 0)
    if not 0 <= position < n or first >= n:
        raise ResolventError(f"sink score of position {position} from row {first} on: the maps have {n} rows")
    return maps[..., first:, position].mean(axis=-1)


def bos_sink_scores(bos_mass: Float[np.ndarray, " ..."], n: int) -> Float[np.ndarray, " ..."]:
    """The sink score of position 0 out of the mean of column 0 over rows ≥ 1: row 0 of a causal map is e0."""
    return ((n - 1) * bos_mass + 1) / n


def sink_rate(scores: Float[np.ndarray, " heads"], threshold: float, comparison: Literal[">", ">="] = ">") -> float:
    """Fraction of heads whose score exceeds the threshold, or reaches it; the paper does not say which. NaN of none."""
    if comparison not in (">", ">="):
        raise ResolventError(f"sink rate: comparison '{comparison}' is unknown; allowed: >, >=")
    if not len(scores):
        return float("nan")
    return float(np.mean(scores > threshold if comparison == ">" else scores >= threshold))
