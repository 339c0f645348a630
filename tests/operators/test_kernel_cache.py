"""Compiled code on disk never outlives the source that it came from."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import resolvent
from resolvent.operators._kernel_cache import discard_stale, is_warm, mark_warm


def write(file: Path, time: float) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("")
    os.utime(file, (time, time))
    return file


def test_an_edit_of_any_source_discards_what_was_compiled_before_it(tmp_path: Path) -> None:
    """The caller's file is unchanged; only its callee's is newer than the index."""
    write(tmp_path / "caller.py", 100)
    write(tmp_path / "deeper" / "callee.py", 300)
    old = write(tmp_path / "__pycache__" / "caller.kernel-1.nbi", 200)
    new = write(tmp_path / "deeper" / "__pycache__" / "callee.kernel-1.nbi", 400)
    code = write(tmp_path / "__pycache__" / "caller.kernel-1.1.nbc", 200)
    assert discard_stale(tmp_path) == 1
    assert not old.exists()
    assert new.exists()
    assert code.exists()  # unreachable without its index, and perhaps being read
    assert discard_stale(tmp_path) == 0


def test_a_folder_without_sources_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "__pycache__" / "kernel-1.nbi", 1)
    assert discard_stale(tmp_path) == 0
    assert discard_stale(tmp_path / "missing") == 0


def test_kernels_are_warm_until_any_source_changes(tmp_path: Path) -> None:
    source = write(tmp_path / "deeper" / "callee.py", 100)
    assert not is_warm(tmp_path)
    mark_warm(tmp_path)
    assert is_warm(tmp_path)
    source.write_text("changed = True\n")
    assert not is_warm(tmp_path)


def test_one_compiled_kernel_does_not_make_the_rest_warm(tmp_path: Path) -> None:
    """Whoever computes with kernels that it compiles meanwhile may differ in the last bits from its neighbours."""
    write(tmp_path / "caller.py", 100)
    write(tmp_path / "__pycache__" / "caller.kernel-1.nbi", 200)
    assert not is_warm(tmp_path)


def test_a_discarded_kernel_ends_the_warmth(tmp_path: Path) -> None:
    write(tmp_path / "caller.py", 100)
    write(tmp_path / "__pycache__" / "caller.kernel-1.nbi", 200)
    mark_warm(tmp_path)
    os.utime(tmp_path / "caller.py", (300, 300))  # touched, with the same content
    assert discard_stale(tmp_path) == 1
    assert not is_warm(tmp_path)


def test_the_package_discards_on_import(tmp_path: Path) -> None:
    """Whoever computes with it imports it first."""
    library = Path(resolvent.__file__).parent
    for name in ("__init__.py", "errors.py"):
        shutil.copy(library / name, write(tmp_path / "resolvent" / name, 0))
    shutil.copytree(library / "operators", tmp_path / "resolvent" / "operators", ignore=lambda *_: ["__pycache__"])
    stale = write(tmp_path / "resolvent" / "operators" / "__pycache__" / "kreiss.kernel-1.nbi", 1)
    code = "import resolvent.operators as operators; print(operators.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert str(tmp_path) in done.stdout
    assert not stale.exists()
