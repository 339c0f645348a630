"""Source hashes and versions are found without running any of the code they speak of."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from resolvent.errors import ResolventError
from resolvent.evidence.fingerprint import Fingerprints, SourceChanged


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that can't be imported, on the path."""
    folder = tmp_path / "unimportable_package"
    (folder / "inner").mkdir(parents=True)
    for name in ("__init__.py", "one.py", "inner/__init__.py", "inner/two.py"):
        (folder / name).write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_source_is_found_without_importing(package: Path) -> None:
    """Planning must not pay for torch, so a fingerprint may not import what it hashes."""
    fingerprints = Fingerprints()
    hashes = {fingerprints.source(name) for name in ("unimportable_package", "unimportable_package.inner.two")}
    assert len(hashes) == 2


def test_an_edit_anywhere_below_changes_the_package(package: Path) -> None:
    """A stage that names a package depends on every module in it."""
    before = Fingerprints().source("unimportable_package")
    (package / "inner" / "two.py").write_text("changed = 1\n")
    assert Fingerprints().source("unimportable_package") != before


def test_a_new_module_changes_the_package(package: Path) -> None:
    """A module added to a package can shadow or extend what was there."""
    before = Fingerprints().source("unimportable_package")
    (package / "three.py").write_text("")
    assert Fingerprints().source("unimportable_package") != before


def test_an_edit_elsewhere_changes_nothing(package: Path) -> None:
    """Evidence must outlive edits of code that it doesn't use."""
    before = Fingerprints().source("unimportable_package.one")
    (package / "inner" / "two.py").write_text("changed = 1\n")
    assert Fingerprints().source("unimportable_package.one") == before


def test_what_was_asked_once_is_fixed(package: Path) -> None:
    """All keys of a run are named by one state of the source, whatever is edited meanwhile."""
    fingerprints = Fingerprints()
    before = fingerprints.source("unimportable_package")
    (package / "one.py").write_text("changed = 1\n")
    assert fingerprints.source("unimportable_package") == before
    with pytest.raises(SourceChanged, match="unimportable_package"):
        fingerprints.check_unchanged(["unimportable_package"])


def test_library_agrees_with_lookup_on_demand() -> None:
    """The controller hashes the whole library at once, a notebook a module at a time: with the same result."""
    whole, piecewise = Fingerprints.at_start(), Fingerprints()
    for name in ("resolvent.keyed_random", "resolvent.evidence", "resolvent.evidence.stages"):
        assert whole.source(name) == piecewise.source(name)


def test_json_round_trip_keeps_every_answer() -> None:
    """Workers get the controller's fingerprints as plain types and must name evidence exactly as it does."""
    first = Fingerprints.at_start()
    first.source("json")
    second = Fingerprints.from_json(json.loads(json.dumps(first.to_json())))
    for name in ("resolvent.evidence", "json"):
        assert second.source(name) == first.source(name)
    assert second.package("numpy") == first.package("numpy")


@pytest.mark.parametrize("name", ["resolvent.nowhere", "no_such_package_at_all", "resolvent.evidence.engine.deeper"])
def test_unknown_module_is_named(name: str) -> None:
    """A stage with a misspelt source would otherwise get a key that never changes."""
    with pytest.raises(ResolventError, match=name):
        Fingerprints().source(name)


def test_missing_distribution_is_named() -> None:
    """Its version is part of the key, so without it there is no key."""
    with pytest.raises(ResolventError, match="no-such-distribution"):
        Fingerprints().package("no-such-distribution")


def test_planning_imports_nothing_heavy() -> None:
    """128 workers plan; each would pay seconds and hundreds of MiB for a library that it may never use."""
    modules = ", ".join(f"resolvent.evidence.{name}" for name in ("engine", "plan", "inventory"))
    code = f"import {modules}, sys; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {"pyarrow", "safetensors", "torch", "filelock", "psutil", "threadpoolctl", "numba", "scipy", "pandas"}
    assert not heavy & set(found.split())
