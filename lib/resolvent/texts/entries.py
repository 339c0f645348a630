"""Typed entries of prereg/subjects.yaml: pinned sources, and errors that name file, path and what is allowed."""

from __future__ import annotations

import re
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

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
        path = path.removesuffix("`")
        allowed = ""
        if "unknown field" in message or "missing required field" in message:
            struct = _struct_at(kind, re.findall(r"\.(\w+)", path.removeprefix("key in ")))
            if struct is not None:
                allowed = f"; allowed are {', '.join(struct.__struct_fields__)}"
        raise EntryError(f"{source}: {where}{path.removeprefix('$')}: {message}{allowed}") from None


def exactly_one(entry: msgspec.Struct, names: Sequence[str], *, source: Path | str, where: str) -> str:
    """The one of `names` that the entry has. Raises EntryError where it has none or several."""
    present = [name for name in names if getattr(entry, name) is not None]
    if len(present) != 1:
        found = "none" if not present else " and ".join(present)
        raise EntryError(f"{source}: {where}: needs exactly one of {', '.join(names)}; found {found}")
    return present[0]


def _struct_at(kind: Any, path: list[str]) -> type[msgspec.Struct] | None:
    candidates = get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    struct = next((c for c in candidates if isinstance(c, type) and issubclass(c, msgspec.Struct)), None)
    if struct is None or not path:
        return struct
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    return _struct_at(fields.get(path[0]), path[1:])
