"""What the store holds is listed with what needs it; nothing goes unless asked."""

from __future__ import annotations

from pathlib import Path

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


def test_delete_passes_over_what_is_in_progress(tmp_path: Path) -> None:
    """Another run may be computing it this moment."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a")])
    items = inventory(engine.store, ())
    with engine.store.lock(engine.key(numbers("a"))):
        assert delete(engine.store, items) == 0
    assert engine.store.keys()
