"""Training trajectories: a quantity against tokens seen, one line a class of heads or a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (palette.SUPPORT, palette.REFUTE, palette.ACCENT, palette.NEUTRAL, palette.MUTED)
_MARKERS = ("o", "^", "s", "D", "v")


@dataclass(frozen=True, eq=False)
class TrajectoriesData:
    """One quantity over training.

    tokens       (checkpoints,) tokens seen, ascending, from 0
    lines        by name: (checkpoints,) values, NaN where undefined
    bands        by name: (low, high), (checkpoints,) each; only for names of `lines`
    quantity     with its unit, for the axis
    crossings    by name: index of the checkpoint at which the line crosses, None where it does not
    """

    tokens: np.ndarray
    lines: Mapping[str, np.ndarray]
    quantity: str
    bands: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    crossings: Mapping[str, int | None] = field(default_factory=dict)


def trajectories(data: TrajectoriesData) -> tuple[Panel, ...]:
    """One panel: lines, bands, and a ring where a line crosses."""
    ends = "; ".join(
        f"{name}: {number(float(values[0]))} at first, {number(float(values[-1]))} at last"
        + (f", crosses at {_tokens(data.tokens[at])} tokens" if (at := data.crossings.get(name)) is not None else "")
        for name, values in data.lines.items()
    )
    name = data.quantity.partition(",")[0]
    title = f"{name[:1].upper()}{name[1:]} over training"
    return (Panel(title, ends, lambda axes: _draw(axes, data), width=380, height=320),)


def _draw(axes: Axes, data: TrajectoriesData) -> None:
    for index, (name, values) in enumerate(data.lines.items()):
        colour, marker = _COLOURS[index % len(_COLOURS)], _MARKERS[index % len(_MARKERS)]
        if name in data.bands:
            low, high = data.bands[name]
            axes.fill_between(data.tokens, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(data.tokens, values, color=colour, marker=marker, markersize=4, label=name)
        at = data.crossings.get(name)
        if at is not None:
            ring: Any = {"marker": "o", "markersize": 11, "fillstyle": "none", "color": colour}
            axes.plot([data.tokens[at]], [values[at]], linestyle="none", **ring)
    # Training starts at 0 tokens, which a logarithmic axis has no place for.
    first = float(data.tokens[data.tokens > 0].min()) if (data.tokens > 0).any() else 1.0
    axes.set_xscale("symlog", linthresh=first, linscale=0.4)
    axes.xaxis.set_major_formatter(lambda value, _: _tokens(value) if value == 0 or value >= first else "")
    axes.axhline(0, color=palette.FAINT, linewidth=1, zorder=0)
    axes.set_xlabel("tokens seen")
    axes.set_ylabel(data.quantity)
    axes.legend(loc="best")


def _tokens(value: float) -> str:
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:g}"
