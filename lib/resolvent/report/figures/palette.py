"""The colours of figures, by role. Light values; a page replaces each by the CSS variable `--figure-<role>`."""

INK = "#1d2430"
MUTED = "#5f6b7c"
FAINT = "#c9ced6"
PAPER = "#fdfdfc"
SUPPORT = "#1a6fb0"
REFUTE = "#b8560f"
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

DIVERGING = "PuOr"
"""Colour map of signed values: safe for colour-blind readers, and both ends of equal weight."""

SEQUENTIAL = "viridis"
"""Colour map of magnitudes: even in lightness, so that it prints in grey."""
