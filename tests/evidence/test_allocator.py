"""Memory that a shard frees is there for the next one."""

import subprocess
import sys

import pytest

FAULTS = """
import platform, resource, sys
import numpy as np
from resolvent.evidence.allocator import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        np.ones(40 * 2**17)  # 40 MiB: more than the C library would ever keep by itself
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

kept = keep_freed_memory()
faults()
print(platform.libc_ver()[0], kept, faults())
"""


def test_freed_memory_is_used_again() -> None:
    """New pages for each array would cost as much as the arithmetic on it."""
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    library, kept, faults = done.stdout.split()
    if library != "glibc":
        assert kept == "False"
        pytest.skip(f"the C library is {library}, not glibc: it keeps its own habits")
    assert kept == "True"
    assert int(faults) < 50


def test_elsewhere_than_with_glibc_nothing_changes(monkeypatch) -> None:
    """mallopt is glibc's: another library may not have it."""
    from resolvent.evidence import allocator

    monkeypatch.setattr(allocator.platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(allocator.ctypes, "CDLL", None)
    assert allocator.keep_freed_memory.__wrapped__() is False
