"""The long-form text of installed packages at pinned versions: docstrings, other long strings, descriptions."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from resolvent.errors import ResolventError

SOURCES: Mapping[str, str] = {
    "accelerate": "1.15.0",
    "anyio": "4.16.0",
    "beartype": "0.23.1",
    "click": "8.5.1",
    "formulaic": "1.2.2",
    "fsspec": "2026.9.0",
    "huggingface_hub": "2.4.0",
    "hypothesis": "6.170.17",
    "Jinja2": "3.1.6",
    "joblib": "1.6.0",
    "mpmath": "1.3.0",
    "mypy": "2.4.1",
    "narwhals": "2.29.0",
    "networkx": "3.6.1",
    "numba": "0.68.1",
    "numpy": "2.4.6",
    "packaging": "26.4",
    "pandas": "3.1.1",
    "patsy": "1.0.3",
    "pydantic": "2.14.4",
    "Pygments": "2.21.0",
    "pytest": "9.2.0",
    "rich": "15.0.0",
    "scikit-learn": "1.9.1",
    "scipy": "1.17.1",
    "statsmodels": "0.15.0",
    "sympy": "1.14.0",
    "torch": "2.13.0",
    "transformers": "5.24.0",
    "typer": "0.29.2",
}
"""Distributions whose text is read, as constraints.txt pins them; those with the most text."""

LEAST_CHARACTERS = 200
LEAST_WORDS = 30
LARGEST_MEAN_WORD = 10.0
LEAST_LETTERS = 0.7


class SourceError(ResolventError):
    """A package that the corpus is made of is missing or has another version."""


@dataclass(frozen=True)
class Document:
    """One text and where it comes from: `distribution/path in it:line`, or `distribution:description`."""

    origin: str
    text: str


def installed_documents(sources: Mapping[str, str] = SOURCES) -> Iterator[Document]:
    """The documents of the named distributions, in alphabetical order of distribution, path and line.

    sources  distribution -> version; a local part of the installed version, such as +cpu, does not matter
    Raises SourceError that names every distribution that is missing or has another version.
    """
    wrong = []
    for name, version in sources.items():
        try:
            found = importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{name} {version} is not installed")
            continue
        if found != version:
            wrong.append(f"{name} is {found}, the corpus is made of {version}")
    if wrong:
        raise SourceError("the corpus needs the versions of constraints.txt: " + "; ".join(wrong))
    for name in sorted(sources, key=str.lower):
        yield from _documents(importlib.metadata.distribution(name), name)


def is_long_form(text: str) -> bool:
    """Whether a cleaned string is prose or documentation: long, of many words, of ordinary word length, of letters."""
    words = text.split()
    if len(text) < LEAST_CHARACTERS or len(words) < LEAST_WORDS:
        return False
    characters = sum(map(len, words))
    letters = sum(map(str.isalpha, text))
    return characters <= LARGEST_MEAN_WORD * len(words) and letters >= LEAST_LETTERS * characters


def _documents(distribution: importlib.metadata.Distribution, name: str) -> Iterator[Document]:
    _, _, description = (distribution.read_text("METADATA") or "").partition("\n\n")
    if is_long_form(cleaned := inspect.cleandoc(description)):
        yield Document(f"{name}:description", cleaned)
    for file in sorted(distribution.files or (), key=lambda file: file.as_posix()):
        # Files about the machine or the build differ where the version does not.
        generated = "version" in file.name or "config__" in file.name
        if file.suffix == ".py" and not generated and ".." not in file.parts:
            yield from _long_strings(Path(str(distribution.locate_file(file))), f"{name}/{file.as_posix()}")


def _long_strings(path: Path, origin: str) -> Iterator[Document]:
    """Every long string of a Python file in the order of lines: docstrings, and templates of docstrings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # a file of another Python version, or one that holds a syntax error on purpose
    # Where the parts of an f-string lie depends on the version of Python.
    formatted = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found = [
        (node.lineno, node.col_offset, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and len(node.value) >= LEAST_CHARACTERS
        and id(node) not in formatted
    ]
    for line, _, text in sorted(found):
        cleaned = inspect.cleandoc(text)
        if is_long_form(cleaned):
            yield Document(f"{origin}:{line}", cleaned)
