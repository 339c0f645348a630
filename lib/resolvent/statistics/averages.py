"""Mean, median and ratio where there may be nothing to divide by: NaN then, without a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Shaped


def mean(values: Shaped[np.ndarray, " heads"]) -> float:
    """Arithmetic mean; NaN where there is nothing to average."""
    return float(np.mean(values)) if len(values) else float("nan")


def median(values: Shaped[np.ndarray, " heads"]) -> float:
    """Median; NaN where there is nothing to take it of."""
    return float(np.median(values)) if len(values) else float("nan")


def ratio(numerator: float, denominator: float) -> float:
    """Their quotient; NaN for a denominator of zero."""
    return numerator / denominator if denominator else float("nan")
