"""Which code and which versions a result comes from, found without importing any of it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import resolvent
from resolvent.errors import ResolventError


class SourceChanged(ResolventError):
    """Source files were edited between the start of the run and the moment their code was to be imported."""


class Fingerprints:
    """Source hashes of modules and versions of distributions, fixed when first asked for.

    `at_start` takes those of the whole library and its dependencies at once; the process that starts a run does that
    and hands `to_json()` to its workers, so that all name their evidence alike, whatever is edited meanwhile.
    """

    def __init__(
        self,
        modules: Mapping[str, str] | None = None,
        sources: Mapping[str, str] | None = None,
        packages: Mapping[str, str] | None = None,
    ) -> None:
        self._modules = dict(modules or {})  # every dotted module of the library -> SHA-256 of its file
        self._sources = dict(sources or {})  # dotted module or package asked for -> SHA-256 of all that lies under it
        self._packages = dict(packages or {})  # distribution -> version

    @classmethod
    def at_start(cls) -> Fingerprints:
        """Those of every module of the library and of every distribution that it depends on."""
        fingerprints = cls(modules=_module_hashes("resolvent"))
        for distribution in _declared_dependencies():
            try:
                fingerprints.package(distribution)
            except ResolventError:
                continue  # an error only for a stage that uses it
        return fingerprints

    def source(self, name: str) -> str:
        """SHA-256 of the source of a dotted module, or of every module of a dotted package.

        Raises ResolventError where there is no such source file.
        """
        if name not in self._sources:
            known = name in self._modules
            self._sources[name] = _combined(name, self._modules if known else _module_hashes(name))
        return self._sources[name]

    def package(self, distribution: str) -> str:
        """The installed version of a distribution. Raises ResolventError where it is not installed."""
        if distribution not in self._packages:
            try:
                self._packages[distribution] = importlib.metadata.version(distribution)
            except importlib.metadata.PackageNotFoundError as error:
                raise ResolventError(
                    f"{distribution}: this distribution is not installed, but evidence needs it"
                ) from error
        return self._packages[distribution]

    def check_unchanged(self, names: Iterable[str]) -> None:
        """Compares with the files as they are now. Raises SourceChanged.

        Called before code is first imported: a worker that starts late would otherwise run edited code under the name
        of the old.
        """
        for name in names:
            if _combined(name, _module_hashes(name)) != self.source(name):
                raise SourceChanged(
                    f"{name}: its source was edited after this run began; start the run again (complete evidence stays)"
                )

    def to_json(self) -> dict[str, Any]:
        return {"modules": dict(self._modules), "sources": dict(self._sources), "packages": dict(self._packages)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Fingerprints:
        return cls(plain["modules"], plain["sources"], plain["packages"])


def _combined(name: str, modules: Mapping[str, str]) -> str:
    """SHA-256 over the module and all below it, in the order of their names."""
    digest = hashlib.sha256()
    for module in sorted(modules):
        if module == name or module.startswith(name + "."):
            digest.update(f"{module} {modules[module]}\n".encode())
    return digest.hexdigest()


def _module_hashes(name: str) -> dict[str, str]:
    """Dotted name -> SHA-256 of the file, for a module, or for a package and all below it."""
    place = _place(name)
    if place.is_file():
        return {name: _file_hash(place)}
    hashes = {}
    for file in sorted(place.rglob("*.py")):
        parts = file.relative_to(place).with_suffix("").parts
        below = parts[:-1] if parts[-1] == "__init__" else parts
        hashes[".".join((name, *below))] = _file_hash(file)
    if not hashes:
        raise ResolventError(f"{name}: {place} has no Python source to take a fingerprint of")
    return hashes


def _place(name: str) -> Path:
    """The file of a module or the folder of a package."""
    top, *below = name.split(".")
    for root in _roots(top):
        place = root.joinpath(*below)
        if place.is_dir():
            return place
        file = root if not below and root.is_file() else place.with_suffix(".py")
        if file.is_file():
            return file
    raise ResolventError(f"{name}: no source file of a module or package of that name (needed to name its evidence)")


def _roots(top: str) -> list[Path]:
    """The folders of a top-level package, or the file of a top-level module."""
    if top == "resolvent":
        return [Path(folder) for folder in resolvent.__path__]
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a module put into sys.modules by hand has no spec
        file = getattr(sys.modules.get(top), "__file__", None)
        return [Path(file)] if file else []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(folder) for folder in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin else []


def _file_hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _declared_dependencies() -> list[str]:
    try:
        requirements = importlib.metadata.requires("resolvent") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in requirements if "extra ==" not in line)
    return [name.group() for name in names if name]
