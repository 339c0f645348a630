"""Tick labels without mathematical typesetting: plain text reads aloud, and costs a tenth of the time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Axis

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decades(axis: Axis) -> None:
    """Labels a logarithmic axis with powers of ten, `10⁻³`; between them nothing."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(numticks=6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))
    axis.set_minor_formatter(NullFormatter())


def octaves(axis: Axis) -> None:
    """Labels an axis that is logarithmic to base 2 with plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def power_of_ten(value: float) -> str:
    """`10⁻³`; 1 and 10 as they are; empty for a number that is no power of ten."""
    if not (value > 0 and math.isfinite(value)):
        return ""
    whole = round(math.log10(value))
    if not math.isclose(value, 10.0**whole, rel_tol=1e-6):
        return ""
    return str(10**whole) if whole in (0, 1) else "10" + str(whole).translate(_RAISED)
