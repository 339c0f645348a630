"""Attention maps of chosen heads on one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import PowerNorm


@dataclass(frozen=True, eq=False)
class AttentionData:
    """maps (heads, n, n), rows attend to columns; labels a head each; text: its id in words."""

    maps: np.ndarray
    labels: tuple[str, ...]
    text: str


def attention(data: AttentionData) -> tuple[Panel, ...]:
    """One panel a head. Shade is the square root of the weight, so that small ones show."""
    return tuple(_panel(label, matrix, data.text) for label, matrix in zip(data.labels, data.maps, strict=True))


def _panel(label: str, matrix: np.ndarray, text: str) -> Panel:
    bos = float(matrix[1:, 0].mean()) if len(matrix) > 1 else 1.0
    previous = float(np.diagonal(matrix, -1).mean()) if len(matrix) > 1 else 0.0
    words = f"head {label} on {text}: mean attention {number(bos)} to BOS, {number(previous)} to the previous token"
    return Panel(f"Attention, head {label}", words, lambda axes: _draw(axes, matrix), width=340, height=310, right=46.0)


def _draw(axes: Axes, matrix: np.ndarray) -> None:
    shown = np.ma.masked_where(np.triu(np.ones_like(matrix), 1) > 0, matrix)
    image = axes.imshow(shown, cmap=palette.SEQUENTIAL, norm=_square_root(), interpolation="nearest")
    axes.set_xlabel("attends to position")
    axes.set_ylabel("position")
    axes.spines[:].set_visible(False)
    bar = axes.figure.colorbar(image, ax=axes, label="weight", fraction=0.046, pad=0.03, ticks=[0, 0.05, 0.25, 0.5, 1])
    bar.outline.set_visible(False)


def _square_root() -> PowerNorm:
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5, vmin=0, vmax=1)
