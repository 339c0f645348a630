"""Typed entries of prereg/subjects.yaml: pinned sources, and errors that name file, path and what is allowed."""

from __future__ import annotations

import re
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from resolvent.errors import ResolventError

Word = Annotated[str, msgspec.Meta(pattern=r"^\S+$")]
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
Revision = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{40}$")]

T = TypeVar("T")


class EntryError(ResolventError):
    """An entry of subjects.yaml or subjects.local.yaml that cannot be taken as it stands."""


class Wheel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file inside a pinned wheel of the package index.

    sha256         of the wheel; None where the wheel differs by platform
    member         path of the file inside the wheel
    member_sha256  of that file, always checked
    """

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9.!+_-]+$")]
    member: Word
    member_sha256: Sha256
    sha256: Sha256 | None = None


class HubDataset(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One column of one split of a data set on the model hub, at one commit."""

    dataset: Word
    revision: Revision
    split: Word
    text: str


def typed(value: Any, kind: type[T], *, source: Path | str, where: str) -> T:
    """`value` as the msgspec type `kind`.

    source  the file named in errors
    where   the path of the value in that file, `subjects.gpt2`
    Raises EntryError, with the path of the mistake and, for an unknown key, the keys that are allowed.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `")
        path = path.removesuffix("`").removeprefix("key in ").removeprefix("$")
        allowed = _allowed(_type_at(kind, re.findall(r"\.(\w+)|(\[)", path)))
        place = f"{where}{path}".removeprefix(".") or "the whole file"
        raise EntryError(f"{source}: {place}: {message}{allowed}") from None


def exactly_one(entry: msgspec.Struct, names: Sequence[str], *, source: Path | str, where: str) -> str:
    """The one of `names` that the entry has. Raises EntryError where it has none or several."""
    present = [name for name in names if getattr(entry, name) is not None]
    if len(present) != 1:
        found = "none" if not present else " and ".join(present)
        raise EntryError(f"{source}: {where}: needs exactly one of {', '.join(names)}; found {found}")
    return present[0]


def _allowed(kind: Any) -> str:
    """What the type admits where that is a short list: the keys of a mapping, the words of an enumeration."""
    for option in _options(kind):
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            return f"; allowed are {', '.join(option.__struct_fields__)}"
        if get_origin(option) is Literal:
            return f"; allowed are {', '.join(str(word) for word in get_args(option))}"
    return ""


def _type_at(kind: Any, path: list[tuple[str, str]]) -> Any:
    """The type at the path of a msgspec error: a field name, or `[` for an element of a list or mapping."""
    for name, _ in path:
        for option in _options(kind):
            if name and isinstance(option, type) and issubclass(option, msgspec.Struct):
                kind = {field.encode_name: field.type for field in msgspec.structs.fields(option)}.get(name)
                break
            if not name and get_origin(option) in (tuple, dict):
                kind = get_args(option)[1 if get_origin(option) is dict else 0]
                break
        else:
            return None
    return kind


def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (types.UnionType, Union) else (kind,)
