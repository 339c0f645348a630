"""How numbers are written for people; verdicts.jsonl keeps every bit."""

from __future__ import annotations

import math


def number(value: float | None) -> str:
    """Four significant digits, whole numbers whole; a dash for None."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.4g}"


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """`0.91 [0.88, 0.94]`, or the value alone."""
    if low is None or high is None:
        return number(value)
    return f"{number(value)} [{number(low)}, {number(high)}]"


def signed(value: float) -> str:
    """With its sign, for margins."""
    return f"+{number(value)}" if value > 0 else number(value)
