"""Real processes on one store: each shard is computed once, and kill -9 loses at most what was in flight."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

from counting_stages import calls
from evidence_builders import build_engine, chained, numbers, start_worker, total, wait_until


def assert_no_complete_shard_was_computed_again(root: Path) -> None:
    created = {entry.params["name"]: entry.created for entry in build_engine(root).store.entries()}
    late = [(name, began) for name, _, began in calls(root) if began > created[name]]
    assert late == []


def test_processes_share_the_work_and_compute_nothing_twice(tmp_path: Path) -> None:
    """Workers are handed overlapping needs; only the store says who does what."""
    (tmp_path / "hold").write_text("")
    workers = [start_worker(tmp_path, count=8) for _ in range(4)]
    wait_until(lambda: len(calls(tmp_path)) == 4)
    (tmp_path / "hold").unlink()
    accounts = [json.loads(worker.communicate()[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4
    assert set(Counter(name for name, _, _ in calls(tmp_path)).values()) == {1}
    computed = [key for account in accounts for key in account["computed"]]
    assert len(computed) == len(set(computed)) == 16
    assert len({pid for _, pid, _ in calls(tmp_path)}) == 4


def test_killed_workers_lose_only_what_was_in_flight(tmp_path: Path) -> None:
    """Three kills in a row, replacements as pytest-xdist starts them: the same evidence as an undisturbed run."""
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    build_engine(undisturbed).require(chained(16, seconds=0.0))
    build_engine(disturbed)
    chance = random.Random(5)
    workers = [start_worker(disturbed, count=16, seconds=0.15) for _ in range(3)]
    for kills in range(1, 4):
        wait_until(lambda kills=kills: len(calls(disturbed)) >= 4 * kills)
        victim = chance.randrange(len(workers))
        workers[victim].kill()
        workers[victim].communicate()
        workers[victim] = start_worker(disturbed, count=16, seconds=0.15)
    for worker in workers:
        _, errors = worker.communicate(timeout=60)
        assert worker.returncode == 0, errors
    assert_no_complete_shard_was_computed_again(disturbed)
    assert Counter(name for name, _, _ in calls(disturbed, "end")).total() <= 32 + 3
    first, second = build_engine(undisturbed), build_engine(disturbed)
    for plain, killed in zip(chained(16, seconds=0.0), chained(16, seconds=0.15), strict=True):
        assert first.load(plain).arrays["values"].tobytes() == second.load(killed).arrays["values"].tobytes()
    assert not list(second.store.shards.glob("*.tmp"))


def test_a_waiting_process_takes_over_from_a_killed_one(tmp_path: Path) -> None:
    """The kernel frees the lock of the dead: nobody waits for a heartbeat to stop."""
    (tmp_path / "hold").write_text("")
    holder = start_worker(tmp_path)
    wait_until(lambda: len(calls(tmp_path)) == 1)
    waiting = start_worker(tmp_path)
    engine = build_engine(tmp_path)
    assert not engine.compute(numbers("leaf0", seconds=0.0))
    holder.kill()
    holder.communicate()
    (tmp_path / "hold").unlink()
    waiting.communicate(timeout=60)
    assert waiting.returncode == 0
    assert [name for name, _, _ in calls(tmp_path)] == ["leaf0", "leaf0", "sum0"]


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """Killing the whole run and starting again computes only what was not complete."""
    first = start_worker(tmp_path, count=6, seconds=0.1, run_id="first")
    wait_until(lambda: len(calls(tmp_path, "end")) >= 3)
    first.kill()
    first.communicate()
    (build_engine(tmp_path).store.shards / f"{'0' * 64}.safetensors.aa.tmp").write_bytes(b"another writer's")
    second = start_worker(tmp_path, count=6, seconds=0.1, run_id="second")
    account = json.loads(second.communicate(timeout=60)[0])
    assert 0 < len(account["computed"]) < 12
    assert_no_complete_shard_was_computed_again(tmp_path)


def test_a_process_helps_before_it_waits(tmp_path: Path) -> None:
    """A shard in progress elsewhere must not keep a worker from the unclaimed ones behind it."""
    engine = build_engine(tmp_path)
    blocked = numbers("leaf0", seconds=0.0)
    wanted = [total(blocked, name="sum"), numbers("free")]
    with engine.store.lock(engine.key(blocked)):
        worker = start_worker(tmp_path, count=3)
        wait_until(lambda: [name for name, _, _ in calls(tmp_path, "end")].count("sum1") == 1)
    worker.communicate(timeout=60)
    engine.require(wanted)
    assert [name for name, _, _ in calls(tmp_path)].index("leaf0") > 1
