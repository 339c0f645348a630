"""Which device models run on, told without importing torch: all processes must agree, and most never load it."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

from resolvent.errors import ResolventError

AUTOMATIC = "auto"

_DRIVER = Path("/dev/nvidiactl")
_ALLOWED = re.compile(r"cpu|cuda(:\d+)?")


def chosen_device(asked: str) -> str:
    """`asked`, or for `auto` "cuda" where there is an NVIDIA driver and torch is not a CPU build, else "cpu".

    Raises ResolventError for anything but auto, cpu, cuda and cuda:N, and for CUDA where there is none.
    """
    missing = _missing_cuda()
    if asked == AUTOMATIC:
        return "cpu" if missing else "cuda"
    if not _ALLOWED.fullmatch(asked):
        raise ResolventError(f"device '{asked}' is unknown; allowed: auto, cpu, cuda, cuda:N")
    if asked != "cpu" and missing:
        raise ResolventError(f"device '{asked}' is not there: {missing}")
    return asked


def _missing_cuda() -> str | None:
    """Why models can't run on CUDA here, as far as that is told without torch."""
    if not _DRIVER.exists():
        return "no NVIDIA driver"
    return "the installed torch is a CPU build" if "+cpu" in importlib.metadata.version("torch") else None
