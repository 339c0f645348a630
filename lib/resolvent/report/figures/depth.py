"""Depth products: deviation D, eigenvalue heuristic E and norm bound N against depth, with nulls and rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NULL_STYLES = ("--", "-.", ":")


@dataclass(frozen=True, eq=False)
class DepthData:
    """log10 of the products, (texts, layers) each unless said; column L - 1 is depth L.

    deviation, eigenvalue, norm   D, E and N of the real stacks
    rollout_deviation             D with skip connections
    null_deviation, null_gap      by null: log10 D and log10(D/E), means over draws
    other_gap                     by state: log10(D/E) of the real stacks on other texts
    baseline_gap                  (layers,) log10(D/E) of uniform attention; None where it was not asked for
    """

    deviation: np.ndarray
    eigenvalue: np.ndarray
    norm: np.ndarray
    rollout_deviation: np.ndarray | None = None
    null_deviation: Mapping[str, np.ndarray] = field(default_factory=dict)
    null_gap: Mapping[str, np.ndarray] = field(default_factory=dict)
    other_gap: Mapping[str, np.ndarray] = field(default_factory=dict)
    baseline_gap: np.ndarray | None = None


def depth(data: DepthData) -> tuple[Panel, ...]:
    """The products; and log10(D/E), by how much the heuristic fails."""
    last = {name: float(np.median(getattr(data, name)[:, -1])) for name in ("deviation", "eigenvalue", "norm")}
    gap = last["deviation"] - last["eigenvalue"]
    layers = data.deviation.shape[1]
    products = f"at depth {layers}: log10 D {number(last['deviation'])}, E {number(last['eigenvalue'])}, "
    products += f"N {number(last['norm'])} (medians over texts)"
    nulls = "".join(
        f"; {name.replace('_', ' ')} {number(float(np.median(values[:, -1])))}"
        for name, values in {**data.null_gap, **data.other_gap}.items()
    )
    return (
        Panel("Depth products", products, lambda axes: _products(axes, data), height=320),
        Panel(
            "How far the heuristic is off",
            f"log10(D/E) at depth {layers}: {number(gap)} (median over texts){nulls}",
            lambda axes: _gaps(axes, data),
            height=320,
        ),
    )


def _products(axes: Axes, data: DepthData) -> None:
    _band(axes, data.norm, palette.REFUTE, "-.", "N, norm bound")
    _band(axes, data.deviation, palette.SUPPORT, "-", "D, deviation")
    _band(axes, data.eigenvalue, palette.NEUTRAL, "--", "E, eigenvalues")
    if data.rollout_deviation is not None:
        _band(axes, data.rollout_deviation, palette.ACCENT, ":", "D with skips")
    for style, (name, values) in zip(_NULL_STYLES, data.null_deviation.items(), strict=False):
        _line(axes, values, palette.MUTED, style, f"D, {name.replace('_', ' ')}")
    axes.set_xlabel("depth L, layers")
    axes.set_ylabel("log₁₀")
    axes.legend(loc="best")


def _gaps(axes: Axes, data: DepthData) -> None:
    axes.axhline(0, color=palette.FAINT, linewidth=1)
    _band(axes, data.deviation - data.eigenvalue, palette.SUPPORT, "-", "real, corpus")
    for index, (name, values) in enumerate(data.other_gap.items()):
        _band(axes, values, (palette.REFUTE, palette.ACCENT)[index % 2], "--", f"real, {name.replace('_', ' ')}")
    for style, (name, values) in zip(_NULL_STYLES, data.null_gap.items(), strict=False):
        _line(axes, values, palette.MUTED, style, name.replace("_", " "))
    if data.baseline_gap is not None:
        depths = np.arange(1, len(data.baseline_gap) + 1)
        axes.plot(depths, data.baseline_gap, color=palette.INK, linewidth=1, label="uniform attention")
    axes.set_xlabel("depth L, layers")
    axes.set_ylabel("log₁₀(D/E), decades")
    axes.legend(loc="best")


def _line(axes: Axes, values: np.ndarray, colour: str, style: str, label: str) -> None:
    depths = np.arange(1, values.shape[1] + 1)
    axes.plot(depths, np.median(values, axis=0), color=colour, linestyle=style, label=label)


def _band(axes: Axes, values: np.ndarray, colour: str, style: str, label: str) -> None:
    """The median over texts, and the range of all texts."""
    depths = np.arange(1, values.shape[1] + 1)
    finite = np.where(np.isfinite(values), values, np.nan)
    with np.errstate(invalid="ignore"):
        axes.fill_between(depths, finite.min(axis=0), finite.max(axis=0), color=colour, alpha=0.15, linewidth=0)
    _line(axes, values, colour, style, label)
