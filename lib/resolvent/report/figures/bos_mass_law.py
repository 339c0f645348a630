"""The BOS-mass law: K_dev against BOS mass, one point a head, with the closed-form curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.axis import octaves
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class BosMassLawData:
    """Arrays over heads: medians over texts.

    bos_mass   mean attention to BOS, 0 to 1
    kreiss     K_dev
    error      |log2 K_dev - log2 of the law|, bits
    length     n of the matrices
    """

    bos_mass: np.ndarray
    kreiss: np.ndarray
    error: np.ndarray
    length: int


def bos_mass_law(data: BosMassLawData) -> tuple[Panel, ...]:
    """K_dev against BOS mass with the law; and how far each head is from it."""
    words = (
        f"{data.kreiss.size} heads; the closed form at BOS mass alone is within a quarter of a bit of "
        f"{(data.error <= 0.25).sum()} of them, median error {number(float(np.median(data.error)))} bits"
    )
    return (
        Panel("K_dev against BOS mass", words, lambda axes: _law(axes, data), height=320),
        Panel("Distance to the law", words, lambda axes: _errors(axes, data), height=320),
    )


def _law(axes: Axes, data: BosMassLawData) -> None:
    from resolvent.operators import kreiss_from_bos_mass

    mass = np.linspace(0, 1, 401)
    axes.plot(mass, kreiss_from_bos_mass(mass, data.length), color=palette.REFUTE, label="closed form: BOS mass alone")
    axes.plot(
        data.bos_mass, data.kreiss, linestyle="none", marker="o", markersize=4, alpha=0.6, color=palette.SUPPORT,
        markeredgewidth=0, label="a head",
    )  # fmt: skip
    axes.set_yscale("log", base=2)
    octaves(axes.yaxis)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("BOS mass")
    axes.set_ylabel("K_dev")
    axes.legend(loc="upper right")


def _errors(axes: Axes, data: BosMassLawData) -> None:
    axes.axhspan(0, 0.25, facecolor=palette.SUPPORT_REGION, edgecolor="none", zorder=0)
    axes.plot(
        data.bos_mass, data.error, linestyle="none", marker="o", markersize=4, alpha=0.6, color=palette.SUPPORT,
        markeredgewidth=0,
    )  # fmt: skip
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("BOS mass")
    axes.set_ylabel("|log₂ K_dev − log₂ law|, bits")
