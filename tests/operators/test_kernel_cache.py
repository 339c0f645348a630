"""Compiled code on disk never outlives the source that it came from."""

import os
from pathlib import Path

from resolvent.operators._kernel_cache import discard_stale


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


def test_the_package_discards_on_import() -> None:
    """After an import of the package no index is older than the newest kernel source."""
    import resolvent.operators as operators

    folder = Path(operators.__file__).parent
    assert discard_stale(folder) == 0
