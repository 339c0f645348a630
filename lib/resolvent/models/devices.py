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

    Raises ResolventError for anything but auto, cpu, cuda and cuda:N.
    """
    if asked == AUTOMATIC:
        return "cuda" if _DRIVER.exists() and "+cpu" not in importlib.metadata.version("torch") else "cpu"
    if not _ALLOWED.fullmatch(asked):
        raise ResolventError(f"device '{asked}' is unknown; allowed: auto, cpu, cuda, cuda:N")
    return asked
