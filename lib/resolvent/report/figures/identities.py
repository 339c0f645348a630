"""What a theorem says against what was measured: the errors of many matrices, with the tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.axis import decades
from resolvent.report.figures.panel import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Errors of exactly 0 stand at the left edge.
_SMALLEST = 1e-18


@dataclass(frozen=True, eq=False)
class IdentitiesData:
    """errors by identity, one number a matrix, all >= 0; tolerance by identity: above it the theorem would fail."""

    errors: Mapping[str, np.ndarray]
    tolerance: Mapping[str, float]


def identities(data: IdentitiesData) -> tuple[Panel, ...]:
    """A histogram an identity, on a logarithmic axis."""
    return tuple(_panel(name, errors, data.tolerance[name]) for name, errors in data.errors.items())


def _panel(name: str, errors: np.ndarray, tolerance: float) -> Panel:
    above = int((errors > tolerance).sum())
    words = f"{errors.size} matrices, largest error {errors.max():.2g}, tolerance {tolerance:g}, {above} above it"
    return Panel(name, words, lambda axes: _draw(axes, errors, tolerance), height=240)


def _draw(axes: Axes, errors: np.ndarray, tolerance: float) -> None:
    shown = np.maximum(errors, _SMALLEST)
    low, high = np.log10(shown.min()) - 0.5, np.log10(max(shown.max(), tolerance)) + 0.7
    axes.hist(shown, bins=np.logspace(low, high, 40).tolist(), color=palette.SUPPORT, alpha=0.8)
    axes.axvline(tolerance, color=palette.REFUTE, linewidth=1.6, label=f"tolerance {tolerance:g}")
    axes.set_xscale("log")
    decades(axes.xaxis)
    axes.set_yscale("symlog")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("error")
    axes.set_ylabel("matrices")
    axes.legend(loc="upper left")
