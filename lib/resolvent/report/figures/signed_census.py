"""The signed census: each head's excess over its null, by place, by previous-token score and by BOS mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class SignedCensusData:
    """Arrays over heads, numbered layer by layer.

    layers       number of layers
    excess       log2 K_dev minus the mean of its null, bits
    suppressed, amplified   significantly below, above the null
    previous_token, bos_mass   attention mass, 0 to 1
    law_excess   the excess if K_dev were the closed form at the head's BOS mass, against the same null
    null         the null's name
    """

    layers: int
    excess: np.ndarray
    suppressed: np.ndarray
    amplified: np.ndarray
    previous_token: np.ndarray
    bos_mass: np.ndarray
    law_excess: np.ndarray
    null: str


def signed_census(data: SignedCensusData) -> tuple[Panel, ...]:
    """Excess by layer and head; against the previous-token score; against BOS mass, with the law's prediction."""
    null = data.null.replace("_", " ")
    counts = (
        f"{data.suppressed.sum()} of {data.excess.size} heads significantly below their {null} null, "
        f"{data.amplified.sum()} above; median excess {number(float(np.median(data.excess)))} bits"
    )
    predicted = f"median predicted by BOS mass alone {number(float(np.median(data.law_excess)))} bits"
    return (
        Panel("Excess by layer and head", counts, lambda axes: _map(axes, data), height=320, right=52.0),
        Panel(
            "Excess against previous-token score",
            f"{counts}; amplified heads have a median previous-token score of {_median(data.previous_token, data)}",
            lambda axes: _scatter(axes, data, data.previous_token, "previous-token score"),
            height=320,
        ),
        Panel(
            "Excess against BOS mass",
            f"{counts}; {predicted}",
            lambda axes: _against_mass(axes, data),
            height=320,
        ),
    )


def _median(values: np.ndarray, data: SignedCensusData) -> str:
    return number(float(np.median(values[data.amplified]))) if data.amplified.any() else "no head at all"


def _map(axes: Axes, data: SignedCensusData) -> None:
    grid = data.excess.reshape(data.layers, -1)
    limit = float(np.abs(data.excess).max()) or 1.0
    # Vector cells would be thousands of paths for large models; the picture has one pixel a head.
    image = axes.imshow(
        grid, cmap=palette.diverging(), vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest", origin="lower"
    )
    for chosen, marker in ((data.amplified, "^"), (~(data.amplified | data.suppressed), "o")):
        layer, head = np.nonzero(chosen.reshape(grid.shape))
        axes.plot(head, layer, linestyle="none", marker=marker, markersize=3.6, color=palette.INK, markeredgewidth=0)
    axes.set_xlabel("head  (▲ above the null, ● neither)")
    axes.set_ylabel("layer")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.figure.colorbar(image, ax=axes, label="excess, bits", fraction=0.06, pad=0.02).outline.set_visible(False)


def classes(data: SignedCensusData) -> list[tuple[str, np.ndarray, str, str]]:
    """Label, heads, colour and marker of the three classes; told apart by shape as well as colour."""
    neither = ~(data.suppressed | data.amplified)
    return [
        ("below the null", data.suppressed, palette.SUPPORT, "o"),
        ("neither", neither, palette.MUTED, "s"),
        ("above the null", data.amplified, palette.REFUTE, "^"),
    ]


def _scatter(axes: Axes, data: SignedCensusData, x: np.ndarray, label: str) -> None:
    axes.axhline(0, color=palette.MUTED, linewidth=0.8)
    for name, heads, colour, marker in classes(data):
        points: Any = {"linestyle": "none", "marker": marker, "markersize": 4.2, "alpha": 0.75, "markeredgewidth": 0}
        axes.plot(x[heads], data.excess[heads], color=colour, label=f"{name} ({heads.sum()})", **points)
    axes.set_xlabel(label)
    axes.set_ylabel("excess, bits")
    axes.legend(loc="best", handletextpad=0.2)


def _against_mass(axes: Axes, data: SignedCensusData) -> None:
    _scatter(axes, data, data.bos_mass, "BOS mass")
    order = np.argsort(data.bos_mass)
    axes.plot(
        data.bos_mass[order], data.law_excess[order], linestyle="none", marker=".", markersize=2.5, color=palette.INK,
        label="BOS mass alone", zorder=3,
    )  # fmt: skip
    axes.legend(loc="best", handletextpad=0.2)
