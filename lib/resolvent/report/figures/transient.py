"""Transient curves: the norm of A_dev^k against k, with the ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.axis import decades, octaves
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (palette.REFUTE, palette.SUPPORT, palette.ACCENT, palette.NEUTRAL, palette.MUTED)
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


@dataclass(frozen=True, eq=False)
class TransientData:
    """Curves of chosen heads.

    powers       (powers,) k
    log10_norm   (heads, powers) log10 of the norm; -inf where the power vanishes
    labels       a head each, with what sets it apart: `4.11, strongest BOS mass`
    length       n of the matrices
    """

    powers: np.ndarray
    log10_norm: np.ndarray
    labels: tuple[str, ...]
    length: int

    @property
    def ceiling(self) -> float:
        """The largest norm that any power of any A_dev of this length can have."""
        return float(np.sqrt(2 * (self.length - 1)))


def transient(data: TransientData) -> tuple[Panel, ...]:
    """One panel of curves."""
    peaks = [
        f"{label}: largest {number(float(10 ** norms.max()))} at k = {data.powers[int(norms.argmax())]}"
        for label, norms in zip(data.labels, data.log10_norm, strict=True)
    ]
    words = f"ceiling {number(data.ceiling)}; " + "; ".join(peaks)
    return (Panel("Transient ‖A_dev^k‖", words, lambda axes: _draw(axes, data), width=380, height=320),)


def _draw(axes: Axes, data: TransientData) -> None:
    axes.axhline(data.ceiling, color=palette.INK, linewidth=1, label=f"ceiling √(2(n−1)) = {data.ceiling:.1f}")
    axes.axhline(1, color=palette.FAINT, linewidth=1)
    for index, (label, norms) in enumerate(zip(data.labels, data.log10_norm, strict=True)):
        finite = np.isfinite(norms) & (norms > -3.2)
        style: Any = {"color": _COLOURS[index % len(_COLOURS)], "linestyle": _DASHES[index % len(_DASHES)]}
        axes.plot(data.powers[finite], 10 ** norms[finite], label=label, marker=".", markersize=4, **style)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(1e-3, 2 * data.ceiling)
    octaves(axes.xaxis)
    decades(axes.yaxis)
    axes.set_xlabel("power k")
    axes.set_ylabel("‖A_dev^k‖")
    axes.legend(loc="lower left")
