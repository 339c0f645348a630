"""What is written is read back to the bit, or an error says which file and what is wrong with it."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence_builders import numbers, total

from resolvent.evidence.shards import Result, Shard
from resolvent.evidence.store import CorruptShard, Entry, Store, StoreNotWritable

KEY = "0123456789abcdef"
ARRAYS, TABLE = numbers(), total()


def write(store: Store, shard: Shard = ARRAYS, result: Result | None = None, key: str = KEY) -> Entry:
    result = result or Result({"values": np.arange(8.0)}, {"name": "a"})
    return store.write(key, shard, result, inputs=["11", "22"], code={"stage": ["s", 1]}, seconds=2.5, run="r")


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Within it, writing a file beyond `size` bytes fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def failing(number: int) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.5, np.nan, np.inf, -np.inf, -0.0, 5e-324]),
        np.linspace(0, 1, 6, dtype=np.float32),
        np.array([2**63 - 1, -(2**63)]),
        np.arange(5, dtype=np.uint8),
        np.array([True, False] * 5 + [True]),
        np.array([], dtype=np.float64),
        np.arange(12.0)[::-3],
    ],
    ids=["float64", "float32", "int64", "uint8", "bool", "empty", "strided"],
)
@pytest.mark.parametrize("shard", [ARRAYS, TABLE], ids=["arrays", "table"])
def test_round_trip_to_the_bit(tmp_path: Path, shard: Shard, values: np.ndarray) -> None:
    """Verdicts of a cold and a warm run must agree, so no value or type may change on the way."""
    store = Store(tmp_path)
    write(store, shard, Result({"column": values}, {"text_ids": '["é", 2]'}))
    read = store.read(KEY, shard)
    assert read.arrays["column"].dtype == values.dtype
    assert read.arrays["column"].tobytes() == values.tobytes()
    assert read.metadata == {"text_ids": '["é", 2]'}


def test_tables_do_without_pandas(tmp_path: Path) -> None:
    """pyarrow's conveniences import it, which costs every worker 60 MiB and most of a second."""
    code = """
import sys, numpy as np
from test_store import KEY, TABLE, Result, Store, Path, write
store = Store(Path(sys.argv[1]))
write(store, TABLE, Result({"a": np.arange(9.0), "b": np.arange(9) > 3, "c": np.array(list("abcdefghi"))}))
store.read(KEY, TABLE)
print("pandas" in sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", code, str(tmp_path)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert found.strip() == "False"


def test_words_in_a_table(tmp_path: Path) -> None:
    """Tables carry names of heads and texts as words."""
    write(Store(tmp_path), TABLE, Result({"text": np.array(["one", "", "drei ä"])}))
    assert Store(tmp_path).read(KEY, TABLE).arrays["text"].tolist() == ["one", "", "drei ä"]


def test_transposed_arrays_keep_their_elements(tmp_path: Path) -> None:
    """The file format stores memory as it lies; a view with other strides must not be scrambled."""
    values = np.arange(12.0).reshape(3, 4).T
    write(Store(tmp_path), ARRAYS, Result({"values": values}))
    np.testing.assert_array_equal(Store(tmp_path).read(KEY, ARRAYS).arrays["values"], values)


@pytest.mark.parametrize("columns", [{"a": np.zeros(2), "b": np.zeros(3)}, {"a": np.zeros((2, 2))}])
def test_ragged_tables_are_refused(tmp_path: Path, columns: dict[str, np.ndarray]) -> None:
    """A table has rows; columns of several lengths or axes have none."""
    with pytest.raises(ValueError, match=r"total\[toy/sum\].*one axis of one length"):
        write(Store(tmp_path), TABLE, Result(columns))


@pytest.mark.parametrize("values", [np.zeros(2, dtype=complex), np.array(["a", None])])
def test_types_without_a_column_are_refused(tmp_path: Path, values: np.ndarray) -> None:
    """Objects and complex numbers have no one form in a table."""
    with pytest.raises(ValueError, match=r"column values is of type (complex128|object)"):
        write(Store(tmp_path), TABLE, Result({"values": values}))


def test_sidecar_says_what_the_shard_is(tmp_path: Path) -> None:
    """Plan, progress and inventory read sidecars alone."""
    store = Store(tmp_path)
    written = write(store)
    assert store.keys() == {KEY}
    assert store.has(KEY)
    assert not store.has("other")
    (entry,) = store.entries()
    assert entry == written == store.entry(KEY)
    assert (entry.id, entry.stage, entry.matrices) == ("numbers[toy/a]", "numbers", 10)
    assert (entry.inputs, entry.seconds, entry.run) == (("11", "22"), 2.5, "r")
    assert entry.bytes == (store.shards / entry.payload).stat().st_size


def damage_byte(store: Store) -> None:
    payload = store.shards / f"{KEY}.safetensors"
    data = bytearray(payload.read_bytes())
    data[-1] ^= 1
    payload.write_bytes(data)


def truncate(store: Store) -> None:
    payload = store.shards / f"{KEY}.safetensors"
    payload.write_bytes(payload.read_bytes()[:-8])


def remove_payload(store: Store) -> None:
    (store.shards / f"{KEY}.safetensors").unlink()


def truncate_sidecar(store: Store) -> None:
    sidecar = store.shards / f"{KEY}.json"
    sidecar.write_bytes(sidecar.read_bytes()[:40])


def swap_sidecar(store: Store) -> None:
    sidecar = store.shards / f"{KEY}.json"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), "key": "another"}))


DAMAGES = [
    pytest.param(damage_byte, "blake2b:", id="a flipped bit"),
    pytest.param(truncate, "bytes", id="a truncated payload"),
    pytest.param(remove_payload, "no file", id="no payload"),
    pytest.param(truncate_sidecar, "sidecar in JSON", id="a truncated sidecar"),
    pytest.param(swap_sidecar, "another", id="a sidecar of another shard"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES)
def test_damage_is_found_and_described(tmp_path: Path, damage: Any, says: str) -> None:
    """A silent wrong number is the one thing that evidence may never give."""
    store = Store(tmp_path)
    write(store)
    damage(store)
    with pytest.raises(CorruptShard, match=r"damaged evidence of numbers\[toy/a\]: expected .* found ") as caught:
        store.read(KEY, ARRAYS)
    assert says in str(caught.value)
    assert caught.value.file.parent == store.shards


def test_damage_after_a_good_read_is_found(tmp_path: Path) -> None:
    """A process checks a file once; a file that changed since is another file."""
    store = Store(tmp_path)
    write(store)
    store.read(KEY, ARRAYS)
    damage_byte(store)
    with pytest.raises(CorruptShard):
        store.read(KEY, ARRAYS)


def test_a_payload_without_sidecar_is_not_there(tmp_path: Path) -> None:
    """The sidecar is written last: without it the writer was killed."""
    store = Store(tmp_path)
    write(store)
    (store.shards / f"{KEY}.json").unlink()
    assert not store.has(KEY)
    assert store.keys() == set()
    assert [file.name for file in store.remains()[KEY]] == [f"{KEY}.safetensors"]
    write(store)
    assert store.read(KEY, ARRAYS).arrays["values"].tolist() == list(range(8))


def test_set_aside_makes_the_shard_missing_and_keeps_the_files(tmp_path: Path) -> None:
    """Damaged evidence is computed again, but nothing is thrown away unasked."""
    store = Store(tmp_path)
    write(store)
    damage_byte(store)
    with pytest.raises(CorruptShard) as caught:
        store.read(KEY, ARRAYS)
    assert store.set_aside(caught.value, KEY)
    assert not store.has(KEY)
    assert {file.suffix for file in store.remains()[KEY]} == {".damaged"}


def test_set_aside_spares_what_was_replaced_meanwhile(tmp_path: Path) -> None:
    """Two readers find one damage; the slower must not throw out what the faster has computed again."""
    store = Store(tmp_path)
    write(store)
    assert not store.set_aside(CorruptShard(ARRAYS, store.shards / KEY, "x", "y"), KEY)
    assert store.has(KEY)


def test_a_full_disk_is_told_and_leaves_no_part(tmp_path: Path) -> None:
    """Half a shard must not be taken for a whole one, nor fill the disk further."""
    store = Store(tmp_path)
    write(store, key="complete")
    with (
        largest_file(100_000),
        pytest.raises(StoreNotWritable, match=r"no room .*needs 7\.6 MiB, [\d.]+ MiB are free.*--evidence-dir=DIR"),
    ):
        write(store, result=Result({"values": np.zeros(1_000_000)}))
    assert {file.name for file in store.shards.iterdir()} == {"complete.json", "complete.safetensors"}
    store.read("complete", ARRAYS)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_is_full_at_the_flush(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Some file systems accept the data and say only at fsync that there is no room."""
    monkeypatch.setattr("resolvent.evidence.store.os.fsync", failing(number))
    store = Store(tmp_path)
    with pytest.raises(StoreNotWritable, match="no room"):
        write(store)
    assert list(store.shards.iterdir()) == []


def test_no_room_for_the_sidecar_takes_the_payload_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A payload that nobody will find only keeps the disk full."""
    store = Store(tmp_path)
    put = store._put

    def put_payload_only(file: Path, data: bytes) -> None:
        if file.suffix == ".json":
            raise StoreNotWritable("full")
        put(file, data)

    monkeypatch.setattr(store, "_put", put_payload_only)
    with pytest.raises(StoreNotWritable):
        write(store)
    assert list(store.shards.iterdir()) == []


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_read_only_store_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Reading still works; what is missing can't be added, and the message says what to do."""
    store = Store(tmp_path)
    write(store)
    monkeypatch.setattr("resolvent.evidence.store.os.replace", failing(number))
    with pytest.raises(StoreNotWritable, match=r"read-only .*--evidence-dir=DIR"):
        write(store, key="more")
    assert store.read(KEY, ARRAYS).metadata == {"name": "a"}


def test_a_store_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A folder below a file can't exist."""
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "evidence")
    assert store.keys() == set()
    with pytest.raises(StoreNotWritable, match="can't write evidence"):
        write(store)
    with pytest.raises(StoreNotWritable), store.lock(KEY):
        pass


def test_remains_of_a_killed_writer_go_with_the_next_write(tmp_path: Path) -> None:
    """Under the shard's lock nobody else writes it, so its temporary files belong to the dead; others' do not."""
    store = Store(tmp_path)
    write(store, key="other")
    mine, theirs = store.shards / f"{KEY}.safetensors.aa.tmp", store.shards / "other.safetensors.bb.tmp"
    mine.write_bytes(b"half")
    theirs.write_bytes(b"half")
    write(store)
    assert not mine.exists()
    assert theirs.exists()


def test_delete_takes_the_sidecar_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill half way must leave a missing shard, not a damaged one."""
    store = Store(tmp_path)
    write(store)
    order = []
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda file, **options: (order.append(file.suffix), unlink(file, **options)))
    assert store.delete([KEY]) > 0
    assert order == [".json", ".safetensors"]
    assert store.keys() == set()
