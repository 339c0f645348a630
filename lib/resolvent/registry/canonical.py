"""What is frozen of a YAML file, and its SHA-256: the parsed content and the comments, whatever the layout.

Comments are frozen too because the claims pin definitions in them (index conventions, which texts choose and which
measure). Indentation, quoting, line breaks, the order of keys and blank lines are free.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from resolvent.errors import ResolventError
from resolvent.strict_yaml import YamlError, parse_yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def canonical_json(value: Any) -> str:
    """The value as JSON with sorted keys and no spaces; dates as YYYY-MM-DD.

    Raises ResolventError for NaN, for a key that is not a string, and for a type that JSON lacks.
    """
    return json.dumps(_plain(value, "$"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256_text(text: str) -> str:
    """The hex SHA-256 of the UTF-8 text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def frozen_hash(content: Any, comments: Iterable[str]) -> str:
    """The hex SHA-256 of content and comments, in canonical JSON."""
    return sha256_text(canonical_json({"content": content, "comments": list(comments)}))


@dataclass(frozen=True)
class Comment:
    """A comment of a YAML file: its line (from 0), whether it stands alone, its words with spaces joined."""

    line: int
    alone: bool
    words: str


def comments_of(text: str) -> tuple[Comment, ...]:
    """The comments of a YAML text in order; a `#` inside a scalar is none."""
    inside = bytearray(len(text) + 1)
    for token in yaml.scan(text, Loader=_Loader):
        if isinstance(token, yaml.ScalarToken):
            start, end = token.start_mark.index, token.end_mark.index
            if token.style in ("|", ">"):
                start = text.index("\n", start)  # a comment may follow the indicator
            inside[start:end] = b"\1" * (end - start)
    found: list[Comment] = []
    offset = 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        for column, character in enumerate(line):
            starts = column == 0 or line[column - 1] in " \t"
            if character == "#" and starts and not inside[offset + column]:
                words = " ".join(line[column:].lstrip("#").split())
                found.append(Comment(number, not line[:column].strip(), words))
                break
        offset += len(line)
    return tuple(found)


def read_text(path: Path) -> str:
    """The UTF-8 text of a file. Raises YamlError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise YamlError(f"{path}: cannot be read: {error}") from None


def claim_hash(path: Path) -> str:
    """The frozen hash of a claim file. Raises YamlError for a file that is not strict YAML."""
    text = read_text(path)
    content = parse_yaml(text, source=path)
    return frozen_hash(content, (comment.words for comment in comments_of(text)))


def subjects_hashes(path: Path) -> dict[str, str]:
    """The frozen hashes of subjects.yaml: `seed`, `text:<name>`, `subject:<name>`, each on its own.

    `seed` includes the rules that stand in comments: every comment above the first text entry and those between the
    last text entry and `cohorts`. A comment above an entry, or in it, belongs to that entry. Cohorts, and comments
    below `cohorts` that belong to no subject, are free.
    """
    text = read_text(path)
    content = parse_yaml(text, source=path)
    root = yaml.compose(text, Loader=_Loader)
    if not isinstance(content, dict) or not isinstance(root, yaml.MappingNode) or "seed" not in content:
        raise YamlError(f"{path}: expected a mapping with seed, texts and subjects")
    comments = comments_of(text)
    hashes: dict[str, str] = {}
    taken: set[int] = set()
    lines = {str(key.value): key.start_mark.line for key, _ in root.value}
    for section, prefix in (("texts", "text"), ("subjects", "subject")):
        entries = next((value for key, value in root.value if key.value == section), None)
        if not isinstance(entries, yaml.MappingNode):
            continue
        previous_end = lines[section]
        for key, value in entries.value:
            end = _last_line(value)
            own = [comment for comment in comments if previous_end < comment.line <= end]
            taken.update(comment.line for comment in own)
            name = str(key.value)
            hashes[f"{prefix}:{name}"] = frozen_hash(content[section][name], (comment.words for comment in own))
            previous_end = end
    limit = lines.get("cohorts", lines.get("subjects", len(text)))
    rules = [comment.words for comment in comments if comment.line < limit and comment.line not in taken]
    hashes["seed"] = frozen_hash(content["seed"], rules)
    return hashes


def _last_line(node: yaml.Node) -> int:
    """The last line with content of a node; the end mark of a block mapping lies on the line of what follows."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return _last_line(node.value[-1][1])
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _last_line(node.value[-1])
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return max(node.start_mark.line, node.end_mark.line - 1)
    return int(node.end_mark.line)


def _plain(value: Any, path: str) -> Any:
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ResolventError(f"{path}: the key {key!r} must be a word; quote it")
        return {key: _plain(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, float) and math.isnan(value):
        raise ResolventError(f"{path}: NaN can't be frozen")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ResolventError(f"{path}: found {type(value).__name__}, which JSON lacks")
