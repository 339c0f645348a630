"""From plain parsed YAML to typed structs, with errors that name file, key, what was found and what is allowed."""

from __future__ import annotations

import re
import reprlib
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from resolvent.errors import ResolventError

T = TypeVar("T")

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "words",
    "bool": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "nothing",
    "date": "a date (YYYY-MM-DD)",
}

_SHORT = reprlib.Repr()
_SHORT.maxstring = 60


class SchemaError(ResolventError):
    """A file that does not follow its schema; the message names file, key, what was found and what is allowed."""


def typed(value: Any, kind: type[T], *, file: str, path: str = "") -> T:
    """`value` as a `kind` (a msgspec struct, or a dict or tuple of them).

    path  the key under which `value` stands in the file, for the message.
    Raises SchemaError.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text = str(error)
    message, _, location = text.partition(" - at `")
    of_a_key = location.startswith("key` in `")
    location = location.removesuffix("`").removeprefix("key` in `").removeprefix("$")
    if of_a_key:
        key = next(key for key in _value_at(value, location) if not isinstance(key, str))
        where = _join(path, location)
        told = f"{'true' if key else 'false'} (yes, no, on and off are such)" if isinstance(key, bool) else repr(key)
        raise SchemaError(f"{file}: {where}{': ' if where else ''}the key {told} is no word; allowed: words (quote it)")
    if "[...]" in location:
        # msgspec does not say which entry of a mapping failed: try them one by one.
        head = location.partition("[...]")[0]
        entry_kind = typing.get_args(_kind_at(kind, head))[1]
        for key, entry in _value_at(value, head).items():
            typed(entry, entry_kind, file=file, path=_join(path, f"{head}.{key}"))
    where = _join(path, location)
    problem = _explain(message, _value_at(value, location), _kind_at(kind, location))
    raise SchemaError(f"{file}: {where}: {problem}" if where else f"{file}: {problem}")


def keys_of(kind: type) -> tuple[str, ...]:
    """The keys a struct allows."""
    return tuple(field.encode_name for field in msgspec.structs.fields(kind))


def _explain(message: str, found: Any, kind: Any) -> str:
    struct = _struct_in(kind)
    if match := re.match(r"Object contains unknown field `(.*)`", message):
        allowed = f"; allowed: {', '.join(keys_of(struct))}" if struct else ""
        return f"unknown key '{match[1]}'{allowed}"
    if match := re.match(r"Object missing required field `(.*)`", message):
        required = [field.encode_name for field in msgspec.structs.fields(struct) if field.required] if struct else []
        return f"the key '{match[1]}' is missing; required: {', '.join(required)}"
    shown = _SHORT.repr(found)
    if message.startswith("Invalid enum value"):
        return f"found {shown}; allowed: {', '.join(_literals_in(kind))}"
    if match := re.match(r"Expected `str` matching regex", message):
        return f"found {shown}; allowed: lower-case letters, digits and _, beginning with a letter"
    if match := re.match(r"Expected `([^`]*)`, got `([^`]*)`", message):
        names = [name for name in match[1].split(" | ") if name != "null"]
        wanted = " or ".join(_WORDS.get(name, name) for name in names if name != "int" or "float" not in names)
        literals = _literals_in(kind)
        return f"found {shown}; allowed: {wanted}{' (' + ', '.join(literals) + ')' if literals else ''}"
    if message.startswith("Invalid RFC3339"):
        return f"found {shown}; allowed: {_WORDS['date']}"
    return f"found {shown}: {message[0].lower()}{message[1:]}"


def _join(path: str, tail: str) -> str:
    tail = tail.lstrip(".")
    if not path or not tail:
        return path or tail
    return path + tail if tail.startswith("[") else f"{path}.{tail}"


def _steps(location: str) -> list[str | int]:
    steps = re.findall(r"\.([^.\[]+)|\[(\d+)\]", location)
    return [int(index) if index else name for name, index in steps]


def _value_at(value: Any, location: str) -> Any:
    for step in _steps(location):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _kind_at(kind: Any, location: str) -> Any:
    for step in _steps(location):
        if isinstance(step, int):
            arguments = typing.get_args(_container_in(kind))
            kind = arguments[0] if arguments else Any
        else:
            struct = _struct_in(kind)
            fields = {field.encode_name: field.type for field in msgspec.structs.fields(struct)} if struct else {}
            kind = fields.get(step, Any)
    return _container_in(kind) or kind


def _members(kind: Any) -> list[Any]:
    if typing.get_origin(kind) is typing.Annotated:
        return _members(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [member for argument in typing.get_args(kind) for member in _members(argument)]
    return [kind]


def _struct_in(kind: Any) -> type | None:
    return next((m for m in _members(kind) if isinstance(m, type) and issubclass(m, msgspec.Struct)), None)


def _container_in(kind: Any) -> Any:
    return next((m for m in _members(kind) if typing.get_origin(m) in (tuple, list, dict, Mapping)), None)


def _literals_in(kind: Any) -> list[str]:
    """The words that a type allows; of a list those of its entries."""
    members = _members(kind)
    words = [str(a) for m in members if typing.get_origin(m) is typing.Literal for a in typing.get_args(m)]
    entries = [m for m in members if typing.get_origin(m) in (tuple, list)]
    return words or [word for m in entries for word in _literals_in(typing.get_args(m)[0])]
