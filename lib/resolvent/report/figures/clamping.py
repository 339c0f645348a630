"""Interventions: a quantity as it is, under the intervention, and under its random controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.report.figures import palette
from resolvent.report.figures.panel import Panel
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The untouched value and the metrics -> a number, None where the metrics lack it.
_Reading = Callable[[float, Mapping[str, float]], float | None]

# Where the bar of the random controls stands.
_RANDOM = 2


@dataclass(frozen=True, eq=False)
class ClampingData:
    """One quantity under one intervention.

    quantity   with its unit, for the axis
    base       as the model has it
    treated    under the intervention
    controls   (draws,) under random controls; may be empty
    treatment  its name: `clamped`, `ablated`
    """

    quantity: str
    base: float
    treated: float
    controls: np.ndarray
    treatment: str = "clamped"


def bars_of_metrics(metrics: Mapping[str, float], treatment: str) -> list[ClampingData]:
    """The bars that the metrics of an intervention claim hold; what they lack is left out.

    Ratios and shares are turned back into the quantity itself, on the scale of the untouched model.
    """
    found = []
    for quantity, base_name, treated, control in _BARS:
        base = 0.0 if base_name is None else metrics.get(base_name)
        value = None if base is None else treated(base, metrics)
        if base is None or value is None:
            continue
        controls = [] if (drawn := control(base, metrics)) is None else [drawn]
        found.append(ClampingData(quantity, base, value, np.array(controls), treatment))
    return found


def _times(name: str) -> _Reading:
    return lambda base, metrics: base * metrics[name] if name in metrics else None


def _value(name: str) -> _Reading:
    return lambda base, metrics: metrics.get(name)


def _nothing(base: float, metrics: Mapping[str, float]) -> None:
    return None


def _bos_attention(base: float, metrics: Mapping[str, float]) -> float | None:
    if "bos_attention_drop" in metrics:
        return base * (1 - metrics["bos_attention_drop"])
    return metrics.get("bos_attention")


def _control_loss(base: float, metrics: Mapping[str, float]) -> float | None:
    if "control_loss_share" not in metrics or "loss_rise_nats" not in metrics:
        return None
    return metrics["control_loss_share"] * metrics["loss_rise_nats"]


# Quantity, metric of the base (None: a rise, from 0), what it is under the intervention, and at worst under a control.
_BARS: tuple[tuple[str, str | None, _Reading, _Reading], ...] = (
    ("mean BOS attention", "base_bos_attention", _bos_attention, _nothing),
    ("median K_dev", "base_kreiss", _times("kreiss_ratio"), _times("control_kreiss_rise")),
    ("sink rate", "base_sink_rate", _times("sink_rate_ratio"), _times("control_sink_rate_ratio")),
    ("BOS norm over others", "base_bos_norm_ratio", _value("bos_norm_ratio"), _nothing),
    ("rise of row entropy, nats", None, _value("entropy_rise_nats"), _nothing),
    ("rise of loss, nats", None, _value("loss_rise_nats"), _control_loss),
)


def clamping(quantities: Sequence[ClampingData]) -> tuple[Panel, ...]:
    """A panel a quantity, three bars each; every control draw is a point."""
    return tuple(_panel(data) for data in quantities)


def _panel(data: ClampingData) -> Panel:
    controls = ""
    if data.controls.size:
        ends = f"{number(float(data.controls.min()))} to {number(float(data.controls.max()))}"
        controls = f", random controls {ends}"
    words = f"{data.quantity}: base {number(data.base)}, {data.treatment} {number(data.treated)}{controls}"
    title = data.quantity.partition(",")[0]
    return Panel(title, words, lambda axes: _draw(axes, data), width=230, height=250)


def _draw(axes: Axes, data: ClampingData) -> None:
    bars = [("base", data.base, palette.MUTED), (data.treatment, data.treated, palette.REFUTE)]
    if data.controls.size:
        bars.append(("random", float(np.median(data.controls)), palette.SUPPORT))
    for place, (_, value, colour) in enumerate(bars):
        axes.bar(place, value, width=0.62, color=colour, alpha=0.85)
        highest = max([value, *data.controls]) if place == _RANDOM else value
        axes.annotate(
            number(value), (place, highest), xytext=(0, 3 if value >= 0 else -11), textcoords="offset points",
            ha="center", fontsize=9, color=palette.INK,
        )  # fmt: skip
    if data.controls.size:
        spread = _RANDOM + np.linspace(-0.18, 0.18, data.controls.size)
        axes.plot(spread, data.controls, linestyle="none", marker="o", markersize=4, color=palette.INK, alpha=0.7)
    axes.axhline(0, color=palette.INK, linewidth=0.8)
    axes.set_xticks(range(len(bars)), [name for name, _, _ in bars])
    axes.set_ylabel(data.quantity)
    axes.margins(y=0.15)
