"""YAML without the silent traps: duplicate keys, numbers that YAML 1.1 reads as strings, and words and times that it
reads as numbers, are errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from resolvent.errors import ResolventError

_LOOKS_LIKE_A_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)[eE][-+]?\d+$")

# 010 is 8 and 1:30 is 90 to YAML 1.1.
_OCTAL_OR_CLOCK = re.compile(r"[-+]?(0[\d_]+|\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?)$")

# PyYAML's name for a text that it was handed.
_UNNAMED = re.compile(r'\s*in "<unicode string>",')

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlError(ResolventError):
    """A YAML file that cannot be taken as it stands; the message names file, line and key."""


class _StrictLoader(_Loader):  # type: ignore[misc, valid-type]
    """The C loader, with a check of every key and every plain scalar."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: dict[Any, yaml.Node] = {}
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if not isinstance(key, str | int | float | bool):
            raise YamlError(f"line {line}: a key must be a word or a number, found {key!r}")
        if key in seen:
            first = seen[key]
            written = "" if first.value == key_node.value else f", as '{first.value}', which is the same to YAML"
            raise YamlError(
                f"line {line}: key '{key_node.value}' stands twice "
                f"(first at line {first.start_mark.line + 1}{written}); keep one"
            )
        seen[key] = key_node
    loader.flatten_mapping(node)
    return {
        loader.construct_object(key, deep=True): loader.construct_object(value, deep=True) for key, value in node.value
    }


def _string(loader: Any, node: yaml.ScalarNode) -> str:
    if not node.style and _LOOKS_LIKE_A_NUMBER.match(node.value):
        raise YamlError(
            f"line {node.start_mark.line + 1}: '{node.value}' is a string to YAML, not a number; "
            "write a point and a signed exponent (1.0e-3), or quote it"
        )
    return str(node.value)


def _number(construct: Any) -> Any:
    def constructor(loader: Any, node: yaml.ScalarNode) -> Any:
        number = construct(loader, node)
        if _OCTAL_OR_CLOCK.match(node.value):
            raise YamlError(
                f"line {node.start_mark.line + 1}: '{node.value}' is {number} to YAML; "
                "write the number plainly, or quote it"
            )
        return number

    return constructor


_StrictLoader.add_constructor("tag:yaml.org,2002:int", _number(_Loader.construct_yaml_int))
_StrictLoader.add_constructor("tag:yaml.org,2002:float", _number(_Loader.construct_yaml_float))
_StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
_StrictLoader.add_constructor("tag:yaml.org,2002:str", _string)


def parse_yaml(text: str, *, source: Path | str) -> Any:
    """The value of a YAML document; `source` is the file named in errors.

    Raises YamlError for a syntax error, a duplicate key, a number that YAML would read as a string, 010 and 1:30, and a
    date that is none.
    """
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except YamlError as error:
        raise YamlError(f"{source}: {error}") from None
    except yaml.MarkedYAMLError as error:
        words = ", ".join(filter(None, (error.context, error.problem)))
        place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise YamlError(f"{source}: {place}not valid YAML: {words}") from None
    except (yaml.YAMLError, ValueError) as error:  # a ValueError from dates
        raise YamlError(f"{source}: not valid YAML: {_UNNAMED.sub(' at', str(error))}") from None


def read_yaml(path: Path) -> Any:
    """The value of a YAML file. Raises YamlError, also for a file that cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise YamlError(f"{path}: cannot be read: {error}") from None
    return parse_yaml(text, source=path)
