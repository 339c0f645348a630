"""What lies in the store, and deleting what nothing needs: on request only."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from resolvent.evidence.store import StoreNotWritable

if TYPE_CHECKING:
    from resolvent.evidence.store import Store


@dataclass(frozen=True)
class Item:
    """One shard's files.

    id       of the shard; the key's first digits where no sidecar tells it
    kind     complete; in progress: being computed now; or remains: of a killed write, a damaged shard set aside, a
             payload without sidecar
    bytes    of payload, or of all that lies there
    created  seconds since the epoch
    seconds  that computing it took, 0 where it isn't complete
    needed   whether a current key names it; remains never are
    """

    key: str
    id: str
    kind: Literal["complete", "in progress", "remains"]
    bytes: int
    created: float
    seconds: float
    needed: bool


def inventory(store: Store, current: Collection[str]) -> list[Item]:
    """All that lies in the store, newest first. `current`: the keys of every shard that the study now plans."""
    current = frozenset(current)
    items = []
    complete = store.keys()
    for key in complete:
        entry = store.entry(key)
        if entry is None:
            status = (store.shards / f"{key}.json").stat()
            items.append(Item(key, key[:12], "complete", status.st_size, status.st_mtime, 0.0, key in current))
        else:
            items.append(Item(key, entry.id, "complete", entry.bytes, entry.created, entry.seconds, key in current))
    for key, files in store.remains().items():
        statuses = []
        for file in files:
            with suppress(FileNotFoundError):  # renamed since, by whoever is writing it
                statuses.append(file.stat())
        if statuses:
            size, newest = sum(status.st_size for status in statuses), max(status.st_mtime for status in statuses)
            kind = _kind_of_remains(store, key)
            items.append(Item(key, key[:12], kind, size, newest, 0.0, False))
    return sorted(items, key=lambda item: (-item.created, item.id))


def _kind_of_remains(store: Store, key: str) -> Literal["in progress", "remains"]:
    try:
        with store.lock(key) as held:
            return "remains" if held else "in progress"
    except StoreNotWritable:
        return "remains"  # nobody writes here


def delete(store: Store, items: Iterable[Item]) -> int:
    """Deletes the files of the given items and returns the bytes freed; passes over shards that are in progress.

    Remains are deleted alone: a complete shard of the same key stays. Raises StoreNotWritable.
    """
    freed = 0
    for item in items:
        with store.lock(item.key) as held:
            if held:
                freed += store.delete((item.key,)) if item.kind == "complete" else store.delete_remains(item.key)
    return freed


def unneeded(items: Iterable[Item]) -> list[Item]:
    """Those that may be deleted: not what is needed, nor what is being computed."""
    return [item for item in items if not item.needed and item.kind != "in progress"]
