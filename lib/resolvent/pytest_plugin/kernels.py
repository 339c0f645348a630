"""numba kernels: compiled once, in a process of their own, before any process of the run computes with them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import resolvent
from resolvent.operators._kernel_cache import discard_stale, is_warm
from resolvent.pytest_plugin.progress import terminal_writer

_SIGNATURE = re.compile(r"^def test_\w+\s*\(([^)]*)\)", re.MULTILINE)


def compile_kernels(config: pytest.Config, claims: Path) -> None:
    """Fills numba's disk cache, in a process of its own, unless all kernels of the present source are in it.

    claims  the study's folder; without a test there that asks for one of the library's views nothing is compiled.
    A failure is left to the shard that meets it again, with its own traceback.
    """
    operators = Path(resolvent.__file__).parent / "operators"
    if config.option.collectonly or os.environ.get("NUMBA_DISABLE_JIT") == "1" or not _uses_views(claims):
        return
    if discard_stale(operators) == 0 and is_warm(operators):
        return
    terminal_writer(config)("compiling numerical kernels, once")
    command = [sys.executable, "-c", "from resolvent.operators.battery import warm_up; warm_up()"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _uses_views(claims: Path) -> bool:
    from resolvent.evidence.views import VIEWS

    signatures = [s for file in claims.rglob("test_*.py") for s in _SIGNATURE.findall(file.read_text(encoding="utf-8"))]
    return any(name.strip() in VIEWS for signature in signatures for name in signature.split(","))
