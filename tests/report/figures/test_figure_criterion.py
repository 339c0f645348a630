"""Dot, interval and regions of a criterion."""

import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[1]))
from builders import criterion as result_of

from resolvent.report.figures import palette
from resolvent.report.figures.criterion import criterion


def axes_of(**changes):
    axes = Figure().add_subplot()
    panel = criterion(result_of(**changes))
    panel.draw(axes)
    return axes, panel


def regions(axes):
    """Colour -> (left, right) of the shaded regions."""
    return {to_hex(patch.get_facecolor()): (patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches}


def test_regions_end_at_the_thresholds():
    """Support from 0.5 to the right edge, refute from the left edge to 0.3."""
    axes, _ = axes_of(value=0.9)
    low, high = axes.get_xlim()
    found = regions(axes)
    assert found[palette.SUPPORT_REGION] == pytest.approx((0.5, high))
    assert found[palette.REFUTE_REGION] == pytest.approx((low, 0.3))


def test_value_and_interval_are_where_they_are():
    """In data coordinates, inside the axis."""
    axes, _ = axes_of(value=0.4, low=0.2, high=0.7, holds=False)
    spans = [tuple(line.get_xdata()) for line in axes.lines]
    assert (0.2, 0.7) in spans
    assert (0.4,) in spans
    low, high = axes.get_xlim()
    assert low < 0.2
    assert high > 0.7


@pytest.mark.parametrize(
    ("holds", "refuted", "colour"),
    [(True, False, palette.SUPPORT), (False, True, palette.REFUTE), (False, False, palette.NEUTRAL)],
)
def test_the_dot_has_the_colour_of_its_side(holds, refuted, colour):
    """Support, refutation, neither."""
    axes, _ = axes_of(holds=holds, refuted=refuted)
    assert axes.lines[-1].get_color() == colour


@pytest.mark.parametrize(
    ("changes", "scale"),
    [
        ({"value": 1e-14, "support": "<= 1e-09", "refute": "> 1e-09"}, "log"),
        ({"value": 0.0, "support": "<= 1e-09", "refute": "> 1e-09"}, "linear"),
        ({"value": -np.inf, "support": ">= 0", "refute": "< -1"}, "linear"),
        ({"value": 0.0, "support": ">= 0", "refute": "= -0"}, "linear"),
        ({"value": 5.0, "support": "in [0.75, 1.33]", "refute": "< 0.5"}, "linear"),
    ],
)
def test_any_value_can_be_drawn(changes, scale):
    """Rounding errors span decades; infinities stand at the edge."""
    axes, panel = axes_of(**changes)
    assert axes.get_xscale() == scale
    low, high = axes.get_xlim()
    assert np.isfinite([low, high]).all()
    assert low < high
    assert all(low <= x <= high for line in axes.lines for x in line.get_xdata() if line.get_marker() == "o")
    assert "supports if" in panel.description
