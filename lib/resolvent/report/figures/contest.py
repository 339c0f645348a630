"""The contest: gains in R² of resolvent features over spectral ones, with intervals, and the R² of each family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from resolvent.report.figures import palette
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RELEVANT_GAIN = 0.02
"""The gain from which a difference matters (the contest claims' criterion `relevance`)."""

_PREPROCESSINGS = ("standardised", "rank_normal")
_FOLDS = {"": "unseen heads", "_unseen_layers": "unseen layers"}
_GAINS = {"gain_p_over_e": "P − E", "gain_union_over_e": "E∪P − E"}
_FAMILIES = {"e": "E, spectral", "p": "P, resolvent", "union": "E∪P"}


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; without one both ends are None."""

    label: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ContestData:
    """Rows of the two panels, top to bottom.

    gains   R² of P or of E∪P minus that of E
    scores  R² of each family
    """

    gains: tuple[Estimate, ...]
    scores: tuple[Estimate, ...]


def contest_data(metrics: Mapping[str, float]) -> ContestData:
    """The rows that the metrics of a contest claim hold, by their names in verdicts.jsonl; others are left out."""
    gains = [
        _estimate(metrics, f"{gain}_{preprocessing}{folds}", f"{name}, {preprocessing.replace('_', '-')}, {words}")
        for folds, words in _FOLDS.items()
        for gain, name in _GAINS.items()
        for preprocessing in _PREPROCESSINGS
    ]
    scores = [
        _estimate(metrics, f"r2_{family}_{preprocessing}{folds}", f"{name}, {preprocessing.replace('_', '-')}, {words}")
        for folds, words in _FOLDS.items()
        for family, name in _FAMILIES.items()
        for preprocessing in _PREPROCESSINGS
    ]
    return ContestData(tuple(row for row in gains if row), tuple(row for row in scores if row))


def contest(data: ContestData) -> tuple[Panel, ...]:
    """Intervals of the gains against nothing and against the relevant gain; R² of the families."""
    panels = []
    if data.gains:
        panels.append(_panel("Gain in R²", data.gains, (0.0, RELEVANT_GAIN)))
    if data.scores:
        panels.append(_panel("R² out of fold", data.scores, (0.0,)))
    return tuple(panels)


def _estimate(metrics: Mapping[str, float], name: str, label: str) -> Estimate | None:
    if name not in metrics:
        return None
    return Estimate(label, metrics[name], metrics.get(f"{name}.low"), metrics.get(f"{name}.high"))


def _panel(title: str, rows: tuple[Estimate, ...], marks: tuple[float, ...]) -> Panel:
    words = "; ".join(f"{row.label}: {with_interval(row.value, row.low, row.high)}" for row in rows)
    return Panel(
        title, words, lambda axes: _draw(axes, title, rows, marks), width=420, height=60 + 22 * len(rows), left=215.0
    )


def _draw(axes: Axes, title: str, rows: tuple[Estimate, ...], marks: tuple[float, ...]) -> None:
    for mark in marks:
        colour, dash = (palette.REFUTE, "--") if mark else (palette.MUTED, "-")
        axes.axvline(mark, linewidth=1, color=colour, linestyle=dash)
    for place, row in enumerate(rows):
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color=palette.INK, linewidth=1.6)
        axes.plot([row.value], [place], marker="o", markersize=6, color=palette.SUPPORT)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(title)
