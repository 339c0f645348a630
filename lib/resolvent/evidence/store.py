"""The store: a payload and a sidecar a shard, in one folder.

    shards/<key>.parquet | .safetensors   the payload
    shards/<key>.json                     the sidecar, written last: a shard with one is complete
    shards/<key>.*.tmp                    a write in progress, or the remains of a killed one
    shards/<key>.*.damaged                set aside because it failed its check
    locks/<key>.lock                      see `locks`
    runs/<run>/<key>.json                 shards that failed in a run

Each file is written under a temporary name, flushed to the disk and renamed. Nothing complete is ever written again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError
from resolvent.evidence.keys import canonical_json
from resolvent.evidence.locks import try_lock
from resolvent.evidence.shards import Result, Shard
from resolvent.writable import why_not_writable

if TYPE_CHECKING:
    import numpy as np
    import pyarrow

MEBIBYTE = 2**20
SUFFIXES = {"table": ".parquet", "arrays": ".safetensors"}
SIDECAR = ".json"
TEMPORARY = ".tmp"
DAMAGED = ".damaged"
# numpy's letters: truth values, signed and unsigned integers, real numbers, words
_COLUMN_KINDS = "biufU"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


class CorruptShard(ResolventError):
    """A file of a complete shard is missing or isn't what was written. `shard` says which, `file` where."""

    def __init__(self, shard: Shard, file: Path, expected: str, found: str) -> None:
        super().__init__(f"{file}: damaged evidence of {shard.id}: expected {expected}, found {found}")
        self.shard, self.file, self.expected, self.found = shard, file, expected, found


class StoreNotWritable(ResolventError):
    """The disk is full or the store is read-only. What was complete stays so."""


@dataclass(frozen=True)
class Entry:
    """What a sidecar says.

    id, stage, version, subject, params, matrices   of the shard
    payload   name of the payload file beside the sidecar
    checksum  "blake2b:" and the hex digest (32 bytes) of the payload
    bytes     size of the payload
    created   seconds since the epoch
    seconds   wall time of the call, its reading of inputs included, waiting excluded
    run       the run that computed it
    inputs    keys of the input shards, in order
    code      stage, source hashes and package versions that are part of the key
    """

    key: str
    id: str
    stage: str
    version: int
    subject: str
    params: Mapping[str, Any]
    matrices: int
    payload: str
    checksum: str
    bytes: int
    created: float
    seconds: float
    run: str
    inputs: tuple[str, ...]
    code: Mapping[str, Any]


class Store:
    """The shards under one folder, which is made at the first write.

    _verified  path -> (size, modification time) of payloads whose checksum this process has seen to be right
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shards = folder / "shards"
        self._verified: dict[Path, tuple[int, int]] = {}

    @contextmanager
    def lock(self, key: str, *, seconds: float = 0.0) -> Iterator[bool]:
        """True while the lock of a shard is held here; False where another process holds it for that long.

        Raises StoreNotWritable where the lock can't be made.
        """
        file = self.folder / "locks" / f"{key}.lock"
        with ExitStack() as stack:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                held = stack.enter_context(try_lock(file, seconds=seconds))
            except OSError as error:
                raise self._not_writable(file, 0, error) from error
            yield held

    def why_not_writable(self) -> str | None:
        """None where evidence can be written, else the reason in words. Makes the folder where it is missing."""
        return why_not_writable(self.folder)

    def has(self, key: str) -> bool:
        return self._sidecar(key).exists()

    def keys(self) -> set[str]:
        """The keys of all complete shards: one listing of a folder."""
        return {name.removesuffix(SIDECAR) for name in self._names() if name.endswith(SIDECAR)}

    def read(self, key: str, shard: Shard) -> Result:
        """The result, its checksum verified. Raises CorruptShard."""
        entry = self._entry(key, shard)
        payload = self.shards / entry.payload
        self._verify(payload, entry, shard)
        return _read_table(payload) if payload.suffix == SUFFIXES["table"] else _read_arrays(payload)

    def metadata(self, key: str, shard: Shard) -> dict[str, str]:
        """The result's metadata alone, from the head of the file: its checksum is not verified. Raises CorruptShard."""
        payload = self.shards / self._entry(key, shard).payload
        if payload.suffix == SUFFIXES["table"]:
            import pyarrow.parquet

            return dict(json.loads(pyarrow.parquet.read_metadata(payload).metadata[b"resolvent"]))
        from safetensors import safe_open

        with safe_open(payload, framework="numpy") as handle:
            return dict(handle.metadata() or {})

    def write(
        self,
        key: str,
        shard: Shard,
        result: Result,
        *,
        inputs: Sequence[str],
        code: Mapping[str, Any],
        seconds: float,
        run: str,
    ) -> Entry:
        """Payload, then sidecar. The caller holds the shard's lock.

        Raises StoreNotWritable, and leaves no part behind.
        """
        data = _table_bytes(result, shard) if shard.stage.output == "table" else _arrays_bytes(result)
        payload = self.shards / (key + SUFFIXES[shard.stage.output])
        entry = Entry(
            key=key,
            id=shard.id,
            stage=shard.stage.name,
            version=shard.stage.version,
            subject=shard.subject,
            params=shard.params,
            matrices=shard.matrices,
            payload=payload.name,
            checksum=_checksum(data),
            bytes=len(data),
            created=time.time(),
            seconds=seconds,
            run=run,
            inputs=tuple(inputs),
            code=code,
        )
        self._remove(file for file in self.remains().get(key, ()) if file.suffix == TEMPORARY)
        self._put(payload, data)
        try:
            self._put(self._sidecar(key), canonical_json(entry).encode())
        except BaseException:
            payload.unlink(missing_ok=True)
            raise
        return entry

    def entries(self) -> Iterator[Entry]:
        """The sidecars of all complete shards, in no order; unreadable ones are passed over."""
        for key in self.keys():
            with suppress(OSError, ValueError, TypeError, KeyError):
                yield _parsed(self._sidecar(key).read_bytes())

    def entry(self, key: str) -> Entry | None:
        """The sidecar of one shard, None where there is no readable one."""
        try:
            return _parsed(self._sidecar(key).read_bytes())
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def set_aside(self, damage: CorruptShard, key: str) -> bool:
        """Renames the files of a damaged shard, so that it is missing and can be computed again.

        The caller holds its lock. False where it is in order after all: another process has replaced it meanwhile.
        Raises the damage itself, with the reason, where the store can't be written.
        """
        try:
            entry = self._entry(key, damage.shard)
            self._verify(self.shards / entry.payload, entry, damage.shard)
        except CorruptShard:
            pass
        else:
            return False
        try:
            # The sidecar first: without it the shard is missing, whatever becomes of the payload.
            for name in (key + SIDECAR, *(key + suffix for suffix in SUFFIXES.values())):
                with suppress(FileNotFoundError):
                    os.replace(self.shards / name, self.shards / (name + DAMAGED))
        except OSError as error:
            damage.add_note(f"It can't be computed again: {self._not_writable(self.shards, 0, error)}")
            raise damage from error
        return True

    def remains(self) -> dict[str, list[Path]]:
        """Key -> files that no complete shard owns: temporary, set aside, payloads without sidecar."""
        names = self._names()
        complete = {name.removesuffix(SIDECAR) for name in names if name.endswith(SIDECAR)}
        found: dict[str, list[Path]] = {}
        for name in names:
            key = name.partition(".")[0]
            lone = name.endswith(tuple(SUFFIXES.values())) and key not in complete
            if lone or name.endswith((TEMPORARY, DAMAGED)):
                found.setdefault(key, []).append(self.shards / name)
        return found

    def delete(self, keys: Iterable[str]) -> int:
        """Deletes shards with all that is left of them and returns the bytes freed. The caller holds their locks."""
        wanted = set(keys)
        names = [name for name in self._names() if name.partition(".")[0] in wanted]
        # A sidecar goes first: a kill in between leaves a missing shard, not a damaged one.
        return self._remove(self.shards / name for name in sorted(names, key=lambda name: not name.endswith(SIDECAR)))

    def delete_remains(self, key: str) -> int:
        """Deletes what no complete shard owns and returns the bytes freed. The caller holds the lock."""
        return self._remove(self.remains().get(key, ()))

    def _remove(self, files: Iterable[Path]) -> int:
        freed = 0
        for file in files:
            try:
                size = file.stat().st_size
                file.unlink()
                freed += size
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._not_writable(file, 0, error) from error
        return freed

    def write_failure(self, run: str, key: str, shard: Shard, text: str) -> None:
        """Marks a shard as failed in this run. Best effort: a full disk must not hide the failure itself."""
        with suppress(ResolventError):
            self._put(self._failure(run, key), json.dumps({"id": shard.id, "failure": text}).encode())

    def failure(self, run: str, key: str) -> str | None:
        """What was written of the first failure of this shard in this run."""
        try:
            return str(json.loads(self._failure(run, key).read_bytes())["failure"])
        except (OSError, ValueError, KeyError):
            return None

    def _failure(self, run: str, key: str) -> Path:
        return self.folder / "runs" / run / f"{key}.json"

    def _sidecar(self, key: str) -> Path:
        return self.shards / (key + SIDECAR)

    def _names(self) -> list[str]:
        """Of the files of shards; a folder among them is none of ours."""
        try:
            with os.scandir(self.shards) as found:
                return [file.name for file in found if file.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _entry(self, key: str, shard: Shard) -> Entry:
        file = self._sidecar(key)
        try:
            entry = _parsed(file.read_bytes())
        except FileNotFoundError as error:
            raise CorruptShard(shard, file, "a sidecar", "none") from error
        except (ValueError, TypeError, KeyError) as error:
            raise CorruptShard(shard, file, "a sidecar in JSON with the known fields", f"{error}") from error
        if entry.key != key:
            raise CorruptShard(shard, file, f"the sidecar of key {key}", f"that of {entry.key}")
        return entry

    def _verify(self, payload: Path, entry: Entry, shard: Shard) -> None:
        try:
            status = payload.stat()
        except FileNotFoundError as error:
            raise CorruptShard(shard, payload, f"{entry.bytes} bytes", "no file") from error
        if status.st_size != entry.bytes:
            raise CorruptShard(shard, payload, f"{entry.bytes} bytes", f"{status.st_size} bytes")
        if self._verified.get(payload) == (status.st_size, status.st_mtime_ns):
            return
        with payload.open("rb") as file:
            found = "blake2b:" + hashlib.file_digest(file, _digest).hexdigest()
        if found != entry.checksum:
            raise CorruptShard(shard, payload, entry.checksum, found)
        self._verified[payload] = (status.st_size, status.st_mtime_ns)

    def _put(self, file: Path, data: bytes) -> None:
        temporary = file.with_name(f"{file.name}.{secrets.token_hex(4)}{TEMPORARY}")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(temporary, file)
            _flush_folder(file.parent)
        except BaseException as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise self._not_writable(file, len(data), error) from error
            raise

    def _not_writable(self, file: Path, needed: int, error: OSError) -> StoreNotWritable:
        reason = error.strerror or str(error)
        if error.errno in _FULL:
            needs = f"needs {needed / MEBIBYTE:.1f} MiB, {self._free_mebibytes():.1f} MiB are free"
            message = f"{file}: no room for this evidence ({reason}; {needs}). Make room and run again"
        elif error.errno in _READ_ONLY:
            message = f"{file}: the store is read-only ({reason}), and this evidence is not in it"
        else:
            message = f"{file}: can't write evidence ({reason})"
        return StoreNotWritable(f"{message}; or name another folder with --evidence-dir=DIR. What was complete stays.")

    def _free_mebibytes(self) -> float:
        place = next(folder for folder in (self.shards, *self.shards.parents) if folder.exists())
        return shutil.disk_usage(place).free / MEBIBYTE


def _digest() -> Any:
    return hashlib.blake2b(digest_size=32)


def _checksum(data: bytes) -> str:
    digest = _digest()
    digest.update(data)
    return f"blake2b:{digest.hexdigest()}"


def _parsed(text: bytes) -> Entry:
    fields = json.loads(text)
    return Entry(**{**fields, "inputs": tuple(fields["inputs"])})


def _flush_folder(folder: Path) -> None:
    """Makes the rename itself survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _table_bytes(result: Result, shard: Shard) -> bytes:
    import pyarrow
    import pyarrow.parquet

    for name, array in result.arrays.items():
        if array.dtype.kind not in _COLUMN_KINDS:
            raise ValueError(f"{shard.id}: column {name} is of type {array.dtype}; numbers, truth values or words only")
    lengths = {name: array.shape for name, array in result.arrays.items()}
    if any(len(shape) != 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
        raise ValueError(f"{shard.id}: the columns of a table have one axis of one length each, not {lengths}")
    table: pyarrow.Table = pyarrow.table(
        {name: _column(array) for name, array in result.arrays.items()},
        metadata={"resolvent": canonical_json(dict(result.metadata))},
    )
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return bytes(memoryview(sink.getvalue()))


def _column(array: np.ndarray) -> pyarrow.Array:
    """The array as Arrow holds it, from its memory: `pyarrow.array` would import pandas (60 MiB, most of a second)."""
    import numpy as np
    import pyarrow

    count = len(array)
    if array.dtype.kind == "U":
        words = [word.encode() for word in array.tolist()]
        ends = np.cumsum([0, *map(len, words)], dtype=np.int32)
        return pyarrow.StringArray.from_buffers(count, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(words)))
    if array.dtype == bool:
        bits = np.packbits(array, bitorder="little")
        return pyarrow.Array.from_buffers(pyarrow.bool_(), count, [None, pyarrow.py_buffer(bits)])
    plain = pyarrow.py_buffer(np.ascontiguousarray(array))
    return pyarrow.Array.from_buffers(pyarrow.from_numpy_dtype(array.dtype), count, [None, plain])


def _array(column: pyarrow.ChunkedArray) -> np.ndarray:
    """The inverse of `_column`, without pandas again (`to_numpy` imports it)."""
    import numpy as np
    import pyarrow

    if pyarrow.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    if pyarrow.types.is_boolean(column.type):
        return np.array(column.to_pylist(), dtype=bool)
    return np.from_dlpack(column.combine_chunks()).copy()


def _read_table(file: Path) -> Result:
    import pyarrow.parquet

    # ParquetFile, not read_table: that one loads the whole dataset machinery, and threads.
    with pyarrow.parquet.ParquetFile(file) as handle:
        table = handle.read(use_threads=False)
    arrays = {name: _array(table.column(name)) for name in table.column_names}
    return Result(arrays, json.loads(table.schema.metadata[b"resolvent"]))


def _arrays_bytes(result: Result) -> bytes:
    import numpy as np
    import safetensors.numpy

    # The format stores memory as it lies; a transposed view would be stored untransposed.
    arrays = {name: np.ascontiguousarray(array) for name, array in result.arrays.items()}
    return bytes(safetensors.numpy.save(arrays, metadata=dict(result.metadata)))


def _read_arrays(file: Path) -> Result:
    from safetensors import safe_open

    with safe_open(file, framework="numpy") as handle:
        return Result({name: handle.get_tensor(name) for name in handle.keys()}, dict(handle.metadata() or {}))  # noqa: SIM118
