"""The colours of figures, by role. Light values; a page replaces each by the CSS variable `--figure-<role>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.colors import LinearSegmentedColormap

INK = "#1d2430"
MUTED = "#5f6b7c"
FAINT = "#c9ced6"
PAPER = "#fdfdfc"
SUPPORT = "#1a6fb0"
REFUTE = "#a84c0b"
NEUTRAL = "#7d5ba6"
ACCENT = "#0d8a72"
SUPPORT_REGION = "#d3e5f4"
REFUTE_REGION = "#f6dfcb"

ROLES = {
    "ink": INK,
    "muted": MUTED,
    "faint": FAINT,
    "paper": PAPER,
    "support": SUPPORT,
    "refute": REFUTE,
    "neutral": NEUTRAL,
    "accent": ACCENT,
    "support-region": SUPPORT_REGION,
    "refute-region": REFUTE_REGION,
}

MIDDLE = "#f3f1ed"

SEQUENTIAL = "viridis"
"""matplotlib's colour map of magnitudes: even in lightness, so that it prints in grey."""


def diverging() -> LinearSegmentedColormap:
    """The colour map of signed values: below as support, above as refute, both ends of equal weight."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signed", [SUPPORT, MIDDLE, REFUTE])
