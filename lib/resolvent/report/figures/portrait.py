"""The pseudospectrum portrait of a head: level lines of the resolvent norm of A_dev in the complex plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (-3.0, -2.5, -2.0, -1.5, -1.0, -0.5)
"""log10 of the ε whose level lines are drawn."""


@dataclass(frozen=True, eq=False)
class PortraitData:
    """One head on one text.

    x, y          real and imaginary parts of the grid, y symmetric about 0
    log10_sigma   (y, x) log10 of the smallest singular value of zI - A_dev
    eigenvalues   of A_dev: real, its diagonal
    kreiss        K_dev, and the point r of the real axis where it is attained (may be infinite)
    label         the head, and the text
    """

    x: np.ndarray
    y: np.ndarray
    log10_sigma: np.ndarray
    eigenvalues: np.ndarray
    kreiss: float
    at: float
    label: str


def grid(points: int = 61, *, radius: float = 1.45) -> tuple[np.ndarray, np.ndarray]:
    """The x of a portrait, and its y >= 0: everything is symmetric about the real axis."""
    return np.linspace(-radius, radius, 2 * points - 1), np.linspace(0, radius, points)


def portrait(data: PortraitData) -> tuple[Panel, ...]:
    """One square panel: level lines, eigenvalues, the unit circle, and where K_dev is attained."""
    place = "at infinity" if not np.isfinite(data.at) else f"at r = {number(data.at)}"
    words = (
        f"{data.label}: K_dev = {number(data.kreiss)}, attained {place}; spectral radius "
        f"{number(float(np.abs(data.eigenvalues).max()))}; level lines of the ε-pseudospectra for ε = 10^-3 to 10^-0.5"
    )
    return (
        Panel(
            f"Pseudospectra, {data.label}",
            words,
            lambda axes: _draw(axes, data),
            width=380,
            height=330,
            right=46.0,
        ),
    )


def _draw(axes: Axes, data: PortraitData) -> None:
    angle = np.linspace(0, 2 * np.pi, 361)
    axes.plot(np.cos(angle), np.sin(angle), color=palette.MUTED, linewidth=1, linestyle="--")
    lines = axes.contour(data.x, data.y, data.log10_sigma, levels=LEVELS, cmap=palette.SEQUENTIAL, linewidths=1.3)
    axes.plot(
        data.eigenvalues, np.zeros_like(data.eigenvalues), linestyle="none", marker="+", markersize=5,
        color=palette.INK, markeredgewidth=0.8, label="eigenvalues",
    )  # fmt: skip
    if np.isfinite(data.at) and data.at <= data.x.max():
        axes.plot([data.at], [0], marker="D", markersize=6, color=palette.REFUTE, label="K_dev attained")
    axes.set_aspect("equal")
    axes.set_xlabel("real part")
    axes.set_ylabel("imaginary part")
    bar = axes.figure.colorbar(lines, ax=axes, label="log₁₀ ε", fraction=0.05, pad=0.03)
    bar.outline.set_visible(False)
    axes.legend(loc="lower right")
