"""A value with its interval, as the judge reads it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A value, the ends of its interval and what was left out on the way."""

    value: float
    """The metric on the data as they are; NaN where it is undefined."""
    low: float
    """Lower end, never above the value. NaN where nothing determines it."""
    high: float
    """Upper end, never below the value. NaN where nothing determines it."""
    undefined: int = 0
    """Resamples in which the metric was undefined (NaN); they were left out."""
