"""Machine-wide slots for shards that hold a language model, so that many workers don't fill the memory.

A slot is a locked file in a folder of this user that all runs on the machine share. Admission is decided under one more
lock: at most one holder a core, and the sum of what all holders declared stays within 0.7 of the memory that would be
available without them. The first is always admitted, so no model is too large to be tried.
Nobody waits while holding a slot: inputs are complete before one is asked for.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError
from resolvent.evidence.locks import try_lock

if TYPE_CHECKING:
    from resolvent.models.subjects import Subject
    from resolvent.study import Study

MEBIBYTE = 2**20
MEMORY_SHARE = 0.7
# Deciding takes milliseconds; whoever waits longer asks again later.
ADMISSION_SECONDS = 1.0
# What a process with torch, transformers and one batch of activations takes besides the weights.
OVERHEAD_BYTES = 1024 * MEBIBYTE
# Weights may lie on disk in half the width that they have in memory.
WIDENING = 2
# Where no weights are found: a model of 250 million parameters.
UNKNOWN_WEIGHTS_BYTES = 512 * MEBIBYTE
_WEIGHT_SUFFIXES = (".safetensors", ".bin")


@contextmanager
def try_slot(footprint: int, *, folder: Path | None = None) -> Iterator[bool]:
    """True while a slot for `footprint` bytes is held here; False, at once, where there is none.

    Raises ResolventError where the folder of slots can't be written.
    """
    folder = folder or _machine_folder()
    with ExitStack() as stack:
        try:
            admitted = _admitted(footprint, folder, stack)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ResolventError(
                f"{folder}: can't keep memory slots ({reason}); set TMPDIR to a folder that can be written"
            ) from error
        if not admitted:
            stack.close()
        yield admitted


def footprint_bytes(study: Study, subject: Subject, params: Mapping[str, Any]) -> int:
    """Bytes of memory of a call with this model: `footprint_bytes` of the params, else from the weights on disk."""
    declared = params.get("footprint_bytes")
    if declared is not None:
        return int(declared)
    return WIDENING * (_weights_on_disk(subject.folder(study)) or UNKNOWN_WEIGHTS_BYTES) + OVERHEAD_BYTES


def _admitted(footprint: int, folder: Path, stack: ExitStack) -> bool:
    """Leaves the lock of a slot on the stack where there is one."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with try_lock(folder / "admission.lock", seconds=ADMISSION_SECONDS) as decides:
        if not decides:
            return False
        mine, declared, resident = None, 0, 0
        for index in range(_cores()):
            file = folder / f"{index}.lock"
            with ExitStack() as attempt:
                if not attempt.enter_context(try_lock(file)):
                    holder = _holder(file)
                    declared += holder[0]
                    resident += holder[1]
                elif mine is None:
                    mine = file
                    stack.push(attempt.pop_all())
        if mine is None or (declared and declared + footprint > MEMORY_SHARE * (_available_memory() + resident)):
            return False
        mine.write_text(f"{os.getpid()} {footprint}")
        return True


def _holder(file: Path) -> tuple[int, int]:
    """What the holder of a slot declared, and how much of that it has taken already."""
    import psutil

    try:
        pid, declared = map(int, file.read_text().split())
        return declared, min(declared, psutil.Process(pid).memory_info().rss)
    except (OSError, ValueError, psutil.Error):
        return OVERHEAD_BYTES, 0  # just ended, or just admitted


def _available_memory() -> int:
    """Of the machine, or of the control group that limits this process."""
    import psutil

    available = psutil.virtual_memory().available
    try:
        group = Path("/sys/fs/cgroup")
        limit, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return min(available, limit - used + int(statistics["inactive_file"]))
    except (OSError, ValueError, KeyError):
        return available  # no such group, or no limit ("max")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _machine_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"resolvent-slots-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _weights_on_disk(folder: Path) -> int:
    """0 where there is no such folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.suffix in _WEIGHT_SUFFIXES and file.is_file())
