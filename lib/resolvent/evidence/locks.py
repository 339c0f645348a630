"""One lock a shard. The kernel holds it and frees it when its holder ends, by whatever means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def try_lock(file: Path, *, seconds: float = 0.0) -> Iterator[bool]:
    """True while the lock of `file` is held here; False where another process holds it for that many seconds more.

    The file stays: removing it would let two processes hold locks of one name. Raises OSError where it can't be made.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        lock.acquire(timeout=seconds, poll_interval=0.01)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
