"""The contest: gains in R² of resolvent features over spectral ones, with intervals, the R² of each family, and what
the best of them predicts of unseen heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from resolvent.report.figures import palette
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import with_interval

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes

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


@dataclass(frozen=True, eq=False)
class PredictionsData:
    """Out-of-fold predictions of the family with the largest R² on unseen heads, standardised features.

    target, prediction   (heads,) in the target's unit
    family               "E", "P" or "E+P"
    quantity             what the target is, with its unit
    repeats              how many repeats of the folds the predictions are the mean of
    """

    target: np.ndarray
    prediction: np.ndarray
    family: str
    quantity: str
    repeats: int


QUANTITIES = {
    "persistence": "log10 of the deviation left, decades",
    "previous_token": "attention to the previous token",
    "induction": "attention to the induction token",
    "duplicate_token": "attention to the duplicate",
    "criticality": "loss rise without the head, nats",
    "interior_growth": "interior growth, bits",
}
"""A contest's target -> words for an axis."""


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


def contest(data: ContestData, *, relevant: float | None = None) -> tuple[Panel, ...]:
    """Intervals of the gains against nothing, and against the gain from which a difference is `relevant`; R² of the
    families."""
    panels = []
    if data.gains:
        panels.append(_panel("Gain in R²", data.gains, (0.0,) if relevant is None else (0.0, relevant)))
    if data.scores:
        panels.append(_panel("R² out of fold", data.scores, (0.0,)))
    return tuple(panels)


def predictions(data: PredictionsData) -> Panel:
    """Predicted against true, one point a head."""
    family = data.family.replace("+", "∪")
    words = (
        f"{data.target.size} heads, {data.quantity}: predicted by {family} without having seen the head, mean of "
        f"{data.repeats} repeats of the folds, against true; on the line both agree"
    )
    return Panel(f"{family} predicts unseen heads", words, lambda axes: _points(axes, data), height=320)


def _points(axes: Axes, data: PredictionsData) -> None:
    low, high = float(data.target.min()), float(data.target.max())
    axes.plot([low, high], [low, high], linewidth=1, color=palette.MUTED)
    axes.plot(
        data.target, data.prediction, linestyle="none", marker="o", markersize=4, alpha=0.6, color=palette.SUPPORT,
        markeredgewidth=0,
    )  # fmt: skip
    axes.set_xlabel(f"true: {data.quantity}")
    axes.set_ylabel("predicted")


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
