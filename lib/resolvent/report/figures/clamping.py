"""Interventions: a quantity as it is, under the intervention, and under its random controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Where the bar of the random controls stands.
_RANDOM = 2


@dataclass(frozen=True, eq=False)
class ClampingData:
    """One quantity under one intervention.

    quantity   with its unit, for the axis
    base       as the model has it
    treated    under the intervention
    controls   (draws,) under random controls; may be empty
    treatment  its name: `clamped`, `ablated`
    """

    quantity: str
    base: float
    treated: float
    controls: np.ndarray
    treatment: str = "clamped"


def clamping(quantities: Sequence[ClampingData]) -> tuple[Panel, ...]:
    """A panel a quantity, three bars each; every control draw is a point."""
    return tuple(_panel(data) for data in quantities)


def _panel(data: ClampingData) -> Panel:
    controls = ""
    if data.controls.size:
        ends = f"{number(float(data.controls.min()))} to {number(float(data.controls.max()))}"
        controls = f", random controls {ends}"
    words = f"{data.quantity}: base {number(data.base)}, {data.treatment} {number(data.treated)}{controls}"
    title = data.quantity.partition(",")[0]
    return Panel(title, words, lambda axes: _draw(axes, data), width=230, height=250)


def _draw(axes: Axes, data: ClampingData) -> None:
    bars = [("base", data.base, palette.MUTED), (data.treatment, data.treated, palette.REFUTE)]
    if data.controls.size:
        bars.append(("random", float(np.median(data.controls)), palette.SUPPORT))
    for place, (_, value, colour) in enumerate(bars):
        axes.bar(place, value, width=0.62, color=colour, alpha=0.85)
        highest = max([value, *data.controls]) if place == _RANDOM else value
        axes.annotate(
            number(value), (place, highest), xytext=(0, 3 if value >= 0 else -11), textcoords="offset points",
            ha="center", fontsize=9, color=palette.INK,
        )  # fmt: skip
    if data.controls.size:
        spread = _RANDOM + np.linspace(-0.18, 0.18, data.controls.size)
        axes.plot(spread, data.controls, linestyle="none", marker="o", markersize=4, color=palette.INK, alpha=0.7)
    axes.axhline(0, color=palette.INK, linewidth=0.8)
    axes.set_xticks(range(len(bars)), [name for name, _, _ in bars])
    axes.set_ylabel(data.quantity)
    axes.margins(y=0.15)
