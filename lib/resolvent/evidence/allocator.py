"""Freed memory stays with the process that computes shards.

A shard's arrays come and go by tens of MiB. The C library gives each back to the system at once and asks for new pages,
cleared one by one, for the next; that costs a battery of null matrices as much as its arithmetic.
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache

# Parameters of glibc's mallopt (malloc.h).
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
KEPT_BYTES = 256 * 2**20
"""Free memory at the end of the heap beyond which it is given back: well above what one text of a shard needs."""


@cache
def keep_freed_memory() -> bool:
    """From now on this process reuses what it frees. False where the C library isn't glibc: nothing changes there."""
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, KEPT_BYTES))
