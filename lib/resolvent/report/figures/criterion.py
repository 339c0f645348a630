"""One criterion: the value as a dot, its interval, and the regions that support and refute, on one axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from resolvent.registry import CriterionResult, Predicate
from resolvent.report.figures import palette
from resolvent.report.figures.axis import decades
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import signed, with_interval
from resolvent.report.thresholds import predicates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator

_WIDTH, _HEIGHT = 340.0, 64.0

# Beyond this ratio of largest to smallest positive number a linear axis shows nothing but its ends.
_LOG_FROM = 1e3


def criterion(result: CriterionResult) -> Panel:
    """The panel of a judged criterion: regions hold for the number named by each predicate's bound."""
    return Panel(
        result.name, _description(result), lambda axes: _draw(axes, result), _WIDTH, _HEIGHT, left=8.0, bottom=22.0
    )


def _description(result: CriterionResult) -> str:
    return (
        f"{result.metric} = {with_interval(result.value, result.low, result.high)}; supports if {result.support}, "
        f"refutes if {result.refute}; margin {signed(result.margin)}"
    )


def _draw(axes: Axes, result: CriterionResult) -> None:
    support, refute = predicates(result)
    numbers = [n for n in (result.value, result.low, result.high) if n is not None and math.isfinite(n)]
    numbers += [*support.thresholds, *refute.thresholds]
    low, high = _limits(axes, numbers)
    for predicate, region, edge in (
        (support, palette.SUPPORT_REGION, palette.SUPPORT),
        (refute, palette.REFUTE_REGION, palette.REFUTE),
    ):
        _region(axes, predicate, region, edge, low, high)
    colour = palette.SUPPORT if result.holds else palette.REFUTE if result.refuted else palette.NEUTRAL
    value = min(max(result.value, low), high)
    if result.low is not None and result.high is not None:
        ends = [min(max(end, low), high) for end in (result.low, result.high)]
        axes.plot(ends, [0.5, 0.5], color=palette.INK, linewidth=2.2, solid_capstyle="butt", zorder=3)
        axes.plot(ends, [0.5, 0.5], linestyle="none", marker="|", markersize=9, color=palette.INK, zorder=3)
    axes.plot(
        [value], [0.5], marker="o", markersize=8.5, color=colour, markeredgecolor=palette.PAPER, markeredgewidth=1.2,
        zorder=4, clip_on=False,
    )  # fmt: skip
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _limits(axes: Axes, numbers: list[float]) -> tuple[float, float]:
    """Sets the axis so that value, interval and thresholds lie inside; logarithmic where they span decades."""
    positive = [n for n in numbers if n > 0]
    if len(positive) == len(numbers) and max(positive) / min(positive) >= _LOG_FROM:
        axes.set_xscale("log")
        decades(axes.xaxis)
        span = math.log10(max(positive) / min(positive))
        low, high = min(positive) / 10 ** (0.12 * span), max(positive) * 10 ** (0.12 * span)
    else:
        axes.xaxis.set_major_locator(_few_ticks())
        axes.ticklabel_format(axis="x", style="plain", useOffset=False)
        lowest, highest = min(numbers), max(numbers)
        pad = 0.14 * (highest - lowest) or 0.5 * abs(highest) or 1.0
        low, high = lowest - pad, highest + pad
    axes.set_xlim(low, high)
    return low, high


def _few_ticks() -> MaxNLocator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, min_n_ticks=3)


def _region(axes: Axes, predicate: Predicate, region: str, edge: str, low: float, high: float) -> None:
    """Where the predicate holds, with a rule at each threshold; a single number gets the rule alone."""
    span = predicate.range()
    start, end = max(span.lowest, low), min(span.highest, high)
    if end > start:
        axes.axvspan(start, end, facecolor=region, edgecolor="none", zorder=1)
    for threshold in predicate.thresholds:
        if low <= threshold <= high:
            axes.axvline(threshold, color=edge, linewidth=1.4, zorder=2)
