"""What the store holds is listed with what needs it; nothing goes unless asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from evidence_builders import build_engine, numbers, total

from resolvent.evidence.inventory import delete, inventory, unneeded


def test_lists_size_age_and_need(tmp_path: Path) -> None:
    """The user decides by these what may go."""
    engine = build_engine(tmp_path)
    engine.require([total(numbers("a"))])
    items = {item.id: item for item in inventory(engine.store, {engine.key(total(numbers("a")))})}
    assert items["total[toy/sum]"].needed
    assert not items["numbers[toy/a]"].needed
    assert all(item.bytes > 0 and item.created > 0 and item.kind == "complete" for item in items.values())


def test_delete_takes_what_it_is_given_alone(tmp_path: Path) -> None:
    """Deleting what no current key needs leaves the rest readable."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a"), numbers("b")])
    (item,) = unneeded(inventory(engine.store, {engine.key(numbers("a"))}))
    assert delete(engine.store, [item]) > item.bytes
    assert engine.store.keys() == {engine.key(numbers("a"))}
    build_engine(tmp_path).load(numbers("a"))


def test_remains_are_listed_and_deleted_apart(tmp_path: Path) -> None:
    """Remains of a kill or of damage, beside a complete shard of the same key, go without it."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a")])
    key = engine.key(numbers("a"))
    (engine.store.shards / f"{key}.safetensors.aa.tmp").write_bytes(b"half")
    (engine.store.shards / f"{'9' * 64}.parquet").write_bytes(b"alone")
    remains = [item for item in inventory(engine.store, {key}) if item.kind == "remains"]
    assert {item.bytes for item in remains} == {4, 5}
    assert delete(engine.store, remains) == 9
    assert engine.store.remains() == {}
    engine.load(numbers("a"))


def test_what_is_being_computed_is_neither_remains_nor_superfluous(tmp_path: Path) -> None:
    """It was listed as 20,000 days old, and offered for deletion."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a")])
    key = engine.key(numbers("b"))
    (engine.store.shards / f"{key}.safetensors.aa.tmp").write_bytes(b"half")
    with engine.store.lock(key):
        items = {item.key: item for item in inventory(engine.store, {engine.key(numbers("a"))})}
    assert items[key].kind == "in progress"
    assert items[key].created > 1e9
    assert unneeded(items.values()) == []
    assert [item.kind for item in unneeded(inventory(engine.store, {engine.key(numbers("a"))}))] == ["remains"]


def test_a_file_that_is_gone_meanwhile_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer renames its temporary file between the listing and the question how old it is."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a")])
    key = engine.key(numbers("b"))
    gone = {key: [engine.store.shards / f"{key}.safetensors.aa.tmp"]}
    monkeypatch.setattr(engine.store, "remains", lambda: gone)
    assert [item.id for item in inventory(engine.store, ())] == ["numbers[toy/a]"]


def test_a_foreign_folder_stops_no_deletion(tmp_path: Path) -> None:
    """Whatever somebody has put there, what was asked for goes."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a"), numbers("b")])
    (engine.store.shards / "foreign.json").mkdir()
    (engine.store.shards / "other.parquet").mkdir()
    items = inventory(engine.store, ())
    assert sorted(item.id for item in items) == ["numbers[toy/a]", "numbers[toy/b]"]
    assert delete(engine.store, items) > 0
    assert engine.store.keys() == set()
    assert (engine.store.shards / "foreign.json").is_dir()


def test_delete_passes_over_what_is_in_progress(tmp_path: Path) -> None:
    """Another run may be computing it this moment."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a")])
    items = inventory(engine.store, ())
    with engine.store.lock(engine.key(numbers("a"))):
        assert delete(engine.store, items) == 0
    assert engine.store.keys()
