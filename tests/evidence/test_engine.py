"""What is required is there afterwards, computed once, on one thread, and never taken from damaged files."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
from counting_stages import FAILS, HEAVY, NOTHING, REFUSES, THREADS, calls
from evidence_builders import build_engine, build_study, build_subjects, numbers, total

from resolvent.errors import ResolventError
from resolvent.evidence.engine import Engine, EvidenceWarning, ShardFailed, merge_accounts
from resolvent.evidence.fingerprint import SourceChanged
from resolvent.evidence.shards import Shard
from resolvent.evidence.store import CorruptShard, StoreNotWritable
from resolvent.keyed_random import generator


def names(root: Path) -> list[str]:
    return [name for name, _, _ in calls(root)]


def payload(engine: Engine, shard: Shard) -> Path:
    return engine.store.shards / f"{engine.key(shard)}.safetensors"


def flip_last_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def test_require_computes_inputs_first_and_each_once(tmp_path: Path) -> None:
    """Shards share inputs; a shared one must not be computed for each that reads it."""
    engine = build_engine(tmp_path)
    engine.require([total(numbers("a"), numbers("b"), name="ab"), total(numbers("b"), numbers("c"), name="bc")])
    assert sorted(names(tmp_path)) == ["a", "ab", "b", "bc", "c"]
    assert names(tmp_path).index("ab") > names(tmp_path).index("b")


def test_load_gives_what_the_stage_returned(tmp_path: Path) -> None:
    """The engine adds nothing and drops nothing, also through inputs."""
    engine = build_engine(tmp_path)
    expected = generator(7, "numbers", "a").standard_normal(8)
    assert engine.load(numbers("a")).arrays["values"].tobytes() == expected.tobytes()
    assert engine.load(numbers("a")).metadata == {"name": "a"}
    np.testing.assert_array_equal(engine.load(total(numbers("a"))).arrays["values"], [expected.sum()])


def test_complete_evidence_is_not_computed_again(tmp_path: Path) -> None:
    """A second run takes seconds."""
    build_engine(tmp_path).require([total(numbers("a"))])
    again = build_engine(tmp_path, run_id="second")
    again.require([total(numbers("a"))])
    assert len(calls(tmp_path)) == 2
    assert again.account() == {"computed": {}, "cached": {again.key(total(numbers("a"))): "total[toy/sum]"}}


def test_inputs_of_complete_evidence_are_not_needed(tmp_path: Path) -> None:
    """Captures take most of the disk: they may be deleted once what reads them is there."""
    engine = build_engine(tmp_path)
    engine.require([total(numbers("a"))])
    engine.store.delete([engine.key(numbers("a"))])
    build_engine(tmp_path, run_id="second").load(total(numbers("a")))
    assert len(calls(tmp_path)) == 2


def test_account_tells_computed_from_cached(tmp_path: Path) -> None:
    """Provenance says what this run computed, and how long it took."""
    build_engine(tmp_path).require([numbers("a")])
    first, second = build_engine(tmp_path, run_id="second"), build_engine(tmp_path, run_id="second")
    first.require([numbers("a"), numbers("b", seconds=0.02)])
    second.require([numbers("b", seconds=0.02)])
    account = json.loads(json.dumps(merge_accounts([first.account(), second.account()])))
    assert account["cached"] == {first.key(numbers("a")): "numbers[toy/a]"}
    (computed,) = account["computed"].values()
    assert computed[0] == "numbers[toy/b]"
    assert computed[1] >= 0.02


def test_snapshot_fixes_keys_and_presence(tmp_path: Path) -> None:
    """All processes of a run must collect the same items, whenever they start."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a")])
    controller = build_engine(tmp_path, run_id="second")
    snapshot = json.loads(json.dumps(controller.snapshot(["toy"])))
    controller.require([numbers("b")])
    worker = Engine.from_snapshot(build_study(tmp_path), build_subjects(), snapshot)
    assert worker.run_id == "second"
    assert worker.present == {engine.key(numbers("a"))}
    assert worker.complete(numbers("b"))
    assert worker.key(numbers("c")) == controller.key(numbers("c"))


def test_workers_take_identities_from_the_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Identity of a local model means hashing its files: once for the run, not once a worker."""
    snapshot = build_engine(tmp_path).snapshot(["toy"])
    monkeypatch.setattr("resolvent.models.subjects.Subject.identity", lambda _: pytest.fail("asked again"))
    worker = Engine.from_snapshot(build_study(tmp_path), build_subjects(), snapshot)
    worker.key(numbers("a"))


def test_edited_source_is_refused_before_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A late worker would file the results of new code under the key of the old."""
    snapshot = build_engine(tmp_path).snapshot()
    snapshot["fingerprints"]["sources"]["counting_stages"] = "another"
    worker = Engine.from_snapshot(build_study(tmp_path), build_subjects(), snapshot)
    with pytest.raises(SourceChanged, match="counting_stages"):
        worker.require([numbers("a")])
    assert calls(tmp_path) == []


def test_a_failing_stage_shows_its_own_traceback_once(tmp_path: Path) -> None:
    """The first to meet a bug sees it whole, with the shard's name; it isn't run again and again."""
    shard = Shard(FAILS, "toy", "f", {"name": "f"})
    engine = build_engine(tmp_path)
    with pytest.raises(ZeroDivisionError, match="by design") as caught:
        engine.require([shard])
    assert caught.value.__notes__ == ["in evidence shard fails[toy/f]"]
    for other in (engine, build_engine(tmp_path)):
        with pytest.raises(ShardFailed, match=r"fails\[toy/f\] failed earlier(.|\n)*ZeroDivisionError: by design"):
            other.require([total(shard)])
    assert names(tmp_path) == ["f"]


def test_a_mistake_of_the_user_is_told_in_its_message_alone(tmp_path: Path) -> None:
    """A ResolventError says what to do; fifteen lines of our own calls, again for every dependent, bury it."""
    shard = Shard(REFUSES, "toy", "r", {"name": "r"})
    engine = build_engine(tmp_path)
    with pytest.raises(ResolventError):
        engine.require([shard])
    with pytest.raises(ShardFailed) as caught:
        build_engine(tmp_path).require([total(shard)])
    assert str(caught.value) == "refuses[toy/r] failed earlier in this run: no weights here"


def test_the_next_run_tries_a_failed_shard_again(tmp_path: Path) -> None:
    """What failed may have been the machine's fault."""
    shard = Shard(FAILS, "toy", "f", {"name": "f"})
    for run in ("first", "second"):
        with pytest.raises(ZeroDivisionError):
            build_engine(tmp_path, run_id=run).require([shard])
    assert names(tmp_path) == ["f", "f"]


def test_a_failure_leaves_other_evidence_alone(tmp_path: Path) -> None:
    """One broken stage costs its own claims only."""
    engine = build_engine(tmp_path)
    with pytest.raises(ZeroDivisionError):
        engine.require([numbers("a"), Shard(FAILS, "toy", "f", {"name": "f"}), numbers("b")])
    assert engine.complete(numbers("a"))
    engine.require([numbers("b")])


def test_a_stage_that_returns_no_result_is_named(tmp_path: Path) -> None:
    """A stage that forgets to return must not leave an empty shard."""
    with pytest.raises(TypeError, match="counting_stages:nothing returned NoneType"):
        build_engine(tmp_path).require([Shard(NOTHING, "toy", "n", {})])


def test_damaged_evidence_is_computed_again_with_a_warning(tmp_path: Path) -> None:
    """A flipped bit on the disk costs seconds, and the user learns of it."""
    engine = build_engine(tmp_path)
    before = engine.load(numbers("a")).arrays["values"]
    flip_last_bit(payload(engine, numbers("a")))
    with pytest.warns(EvidenceWarning, match=r"numbers\[toy/a\].*computed again"):
        after = engine.load(numbers("a")).arrays["values"]
    assert after.tobytes() == before.tobytes()
    assert len(calls(tmp_path)) == 2


def test_a_damaged_input_is_computed_again(tmp_path: Path) -> None:
    """It is found only when the shard that reads it runs."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a"), numbers("b")])
    payload(engine, numbers("a")).write_bytes(b"")
    with pytest.warns(EvidenceWarning, match=r"expected \d+ bytes, found 0 bytes"):
        engine.require([total(numbers("a"), numbers("b"))])
    assert names(tmp_path) == ["a", "b", "a", "sum"]


def test_evidence_deleted_under_a_running_process_is_computed_again(tmp_path: Path) -> None:
    """Somebody cleans up while a run is on."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a")])
    engine.store.delete([engine.key(numbers("a"))])
    with pytest.warns(EvidenceWarning):
        engine.load(numbers("a"))


def test_damage_that_comes_back_is_an_error(tmp_path: Path) -> None:
    """A broken disk must not be computed against for ever."""
    engine = build_engine(tmp_path)
    for _ in range(2):
        engine.require([numbers("a")])
        flip_last_bit(payload(engine, numbers("a")))
        with pytest.warns(EvidenceWarning) if _ == 0 else pytest.raises(CorruptShard):
            engine.load(numbers("a"))


def test_damage_in_a_read_only_store_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can't be mended there, and must not be used."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a")])
    flip_last_bit(payload(engine, numbers("a")))

    def refuse(*_: object) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr("resolvent.evidence.store.os.replace", refuse)
    with pytest.raises(CorruptShard, match="found blake2b") as caught:
        engine.load(numbers("a"))
    assert "can't be computed again" in caught.value.__notes__[0]


def test_complete_evidence_is_readable_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study is published on a read-only disk: claims on complete evidence must run from it."""
    build_engine(tmp_path).require([total(numbers("a"))])

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, os.strerror(30))

    engine = build_engine(tmp_path, run_id="second")
    for function in ("resolvent.evidence.store.os.replace", "resolvent.evidence.store.try_lock", "pathlib.Path.mkdir"):
        monkeypatch.setattr(function, refuse)
    engine.load(total(numbers("a")))
    with pytest.raises(StoreNotWritable, match="read-only"):
        engine.require([numbers("b")])


def test_a_full_disk_fails_the_shard_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is complete stays, what comes after room was made goes on."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a")])

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr("resolvent.evidence.store.os.fsync", full)
        with pytest.raises(StoreNotWritable, match="No space left on device"):
            engine.require([numbers("b")])
    assert not list(engine.store.shards.glob("*.tmp"))
    engine.require([numbers("a"), numbers("b")])


def test_a_shard_runs_on_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads split sums, so their number would change the last bits."""
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    result = build_engine(tmp_path).load(Shard(THREADS, "toy", "t", {}))
    assert set(result.arrays["pools"].tolist()) <= {1}
    assert result.arrays["environment"].tolist() == [1]
    assert os.environ["OMP_NUM_THREADS"] == "5"


def test_torch_runs_on_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch has a pool of its own; it is limited where it is loaded, and never loaded for that."""

    class Torch:
        set_to: list[int] = []  # noqa: RUF012

        def get_num_threads(self) -> int:
            return 4

        def set_num_threads(self, count: int) -> None:
            self.set_to.append(count)

    monkeypatch.setitem(sys.modules, "torch", Torch())  # type: ignore[arg-type]
    build_engine(tmp_path).require([numbers("a")])
    assert Torch.set_to == [1, 4]


def test_compute_is_one_attempt(tmp_path: Path) -> None:
    """It never waits: False where there is nothing to do, inputs are missing, or somebody else is at it."""
    engine = build_engine(tmp_path)
    assert not engine.compute(total(numbers("a")))
    with engine.store.lock(engine.key(numbers("a"))):
        assert not engine.compute(numbers("a"))
    assert engine.compute(numbers("a"))
    assert not engine.compute(numbers("a"))


def test_completeness_is_asked_again_under_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the first look and the lock its last holder may have finished."""
    slower, faster = build_engine(tmp_path), build_engine(tmp_path)
    lock = slower.store.lock

    def late(key: str) -> AbstractContextManager[bool]:
        faster.require([numbers("a")])
        return lock(key)

    monkeypatch.setattr(slower.store, "lock", late)
    assert not slower.compute(numbers("a"))
    assert names(tmp_path) == ["a"]


def test_whoever_waits_learns_of_the_failure(tmp_path: Path) -> None:
    """A claim that waits for a shard in progress elsewhere must not wait for ever, nor run the broken stage again."""
    engine = build_engine(tmp_path)
    shard, key = numbers("a"), engine.key(numbers("a"))
    with engine.store.lock(key), ThreadPoolExecutor() as pool:
        waiting = pool.submit(build_engine(tmp_path).require, [total(shard)])
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)
        engine.store.write_failure("run", key, shard, "ValueError: elsewhere")
        with pytest.raises(ShardFailed, match="ValueError: elsewhere"):
            waiting.result(timeout=30)
    assert calls(tmp_path) == []


def test_without_a_slot_a_model_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Light shards go on meanwhile; the heavy one is tried again."""
    monkeypatch.setattr("resolvent.evidence.slots.tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("resolvent.evidence.slots._cores", lambda: 0)
    engine = build_engine(tmp_path)
    heavy = numbers("heavy", stage=HEAVY)
    assert not engine.compute(heavy)
    monkeypatch.setattr("resolvent.evidence.slots._cores", lambda: 1)
    engine.require([heavy])
    assert names(tmp_path) == ["heavy"]
