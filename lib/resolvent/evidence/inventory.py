"""What lies in the store, and deleting what nothing needs: on request only."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from resolvent.evidence.store import Store


@dataclass(frozen=True)
class Item:
    """One shard's files.

    id       of the shard; the key's first digits where no sidecar tells it
    kind     complete, or remains: of a killed write, a damaged shard set aside, a payload without sidecar
    bytes    of payload, or of all remains
    created  seconds since the epoch
    seconds  that computing it took, 0 for remains
    needed   whether a current key names it; remains never are
    """

    key: str
    id: str
    kind: Literal["complete", "remains"]
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
        statuses = [file.stat() for file in files if file.exists()]
        size, newest = sum(status.st_size for status in statuses), max((s.st_mtime for s in statuses), default=0.0)
        items.append(Item(key, key[:12], "remains", size, newest, 0.0, False))
    return sorted(items, key=lambda item: (-item.created, item.id))


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
    return [item for item in items if not item.needed]
