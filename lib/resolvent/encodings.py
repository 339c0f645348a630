"""What a terminal whose encoding has few letters is given: the nearest ASCII, never an escape and never an error."""

from __future__ import annotations

import codecs
import io
from typing import Any

_HANDLER = "resolvent-nearest-ascii"
_NEAREST = str.maketrans(
    {
        "─": "-",
        "━": "-",
        "–": "-",
        "—": "-",
        "−": "-",
        "×": "x",
        "·": ".",
        "…": "...",
        "’": "'",
        "‘": "'",
        "“": '"',
        "”": '"',
        "≥": ">=",
        "≤": "<=",
        "→": "->",
        "ρ": "rho",
        "ε": "eps",
        "₀": "0",
        "ᵀ": "^T",
    }
)


def show_what_it_can(stream: Any) -> None:
    """Has a text stream write what its encoding lacks in the nearest ASCII; `?` where there is none."""
    codecs.register_error(_HANDLER, _nearest)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=_HANDLER)


def _nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_NEAREST)
    return text.encode("ascii", errors="replace").decode("ascii"), error.end
