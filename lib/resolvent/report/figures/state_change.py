"""State change: what happens to a head between two states of the input, against its score and the BOS-mass law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.axis import octaves
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class StateChangeData:
    """Arrays over heads.

    before, after      K_dev (median over texts) in the two states
    states             names of the two
    change             change of the excess over the state's own null, bits
    law_change         the same if K_dev were the closed form at the head's BOS mass in each state
    score              what makes a head respond, 0 to 1; in_class: it reaches the threshold
    score_name, null   their names
    """

    before: np.ndarray
    after: np.ndarray
    states: tuple[str, str]
    change: np.ndarray
    law_change: np.ndarray
    score: np.ndarray
    in_class: np.ndarray
    score_name: str
    null: str


def state_change(data: StateChangeData) -> tuple[Panel, ...]:
    """K_dev in one state against the other; the change against the score; the change against the law's."""
    before, after = (state.replace("_", " ") for state in data.states)
    chosen = data.change[data.in_class]
    gain = number(float(np.median(chosen))) if chosen.size else "–"
    law = number(float(np.median(data.law_change[data.in_class]))) if chosen.size else "–"
    words = (
        f"{data.in_class.sum()} of {data.change.size} heads are {data.score_name} heads; their excess over the "
        f"{data.null.replace('_', ' ')} null changes by a median of {gain} bits from {before} to {after}, "
        f"and by {law} bits if BOS mass alone decided"
    )
    return (
        Panel("K_dev in both states", words, lambda axes: _states(axes, data), height=320),
        Panel(f"Change against {data.score_name} score", words, lambda axes: _score(axes, data), height=320),
        Panel("Change against the law's", words, lambda axes: _law(axes, data), height=320),
    )


def _points(axes: Axes, data: StateChangeData, x: np.ndarray, y: np.ndarray) -> None:
    common: Any = {"linestyle": "none", "markeredgewidth": 0, "markersize": 4.2}
    rest = ~data.in_class
    axes.plot(x[rest], y[rest], marker="o", color=palette.MUTED, alpha=0.55, label=f"other ({rest.sum()})", **common)
    label = f"{data.score_name} ({data.in_class.sum()})"
    axes.plot(x[data.in_class], y[data.in_class], marker="^", color=palette.REFUTE, label=label, **common)


def _states(axes: Axes, data: StateChangeData) -> None:
    ends = [min(data.before.min(), data.after.min()) * 0.95, max(data.before.max(), data.after.max()) * 1.05]
    axes.plot(ends, ends, color=palette.FAINT, linewidth=1)
    _points(axes, data, data.before, data.after)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    octaves(axes.xaxis)
    octaves(axes.yaxis)
    axes.set_xlabel(f"K_dev, {data.states[0].replace('_', ' ')}")
    axes.set_ylabel(f"K_dev, {data.states[1].replace('_', ' ')}")
    axes.legend(loc="lower right", handletextpad=0.2)


def _score(axes: Axes, data: StateChangeData) -> None:
    axes.axhline(0, color=palette.FAINT, linewidth=1)
    _points(axes, data, data.score, data.change)
    axes.set_xlabel(f"{data.score_name} score")
    axes.set_ylabel("change of excess, bits")
    axes.legend(loc="best", handletextpad=0.2)


def _law(axes: Axes, data: StateChangeData) -> None:
    low = min(data.law_change.min(), data.change.min())
    high = max(data.law_change.max(), data.change.max())
    axes.plot([low, high], [low, high], color=palette.FAINT, linewidth=1)
    _points(axes, data, data.law_change, data.change)
    axes.set_xlabel("change if BOS mass alone decided, bits")
    axes.set_ylabel("change of excess, bits")
    axes.legend(loc="best", handletextpad=0.2)
