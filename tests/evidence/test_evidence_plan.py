"""A plan names every missing shard once, inputs first, and what it will cost."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from counting_stages import HEAVY
from evidence_builders import build_engine, build_study, build_subjects, numbers, total

from resolvent.evidence.engine import Engine
from resolvent.evidence.plan import BYTES_WITH_MODEL, SECONDS_A_MATRIX, SECONDS_WITH_MODEL, Progress, plan, progress
from resolvent.evidence.shards import Shard
from resolvent.evidence.store import MEBIBYTE


def labels(shards: tuple[Shard, ...]) -> list[str]:
    return [shard.label for shard in shards]


def test_closure_each_once_inputs_first(tmp_path: Path) -> None:
    """Claims share shards, and workers take them in this order."""
    wanted = [total(numbers("a"), numbers("b"), name="ab"), total(numbers("b"), numbers("c"), name="bc"), numbers("a")]
    planned = plan(build_engine(tmp_path), wanted)
    assert labels(planned.ordered) == ["a", "b", "ab", "c", "bc"]
    assert planned.missing == planned.ordered
    assert planned.matrices == 30


def test_nothing_waits_for_a_whole_stage(tmp_path: Path) -> None:
    """A shard stands right after its inputs; one that needs everything stands last, whoever asks first."""
    leaves = [numbers(str(i)) for i in range(3)]
    wanted = [total(*leaves, name="all"), *(total(leaf, name=f"of {leaf.label}") for leaf in leaves)]
    planned = plan(build_engine(tmp_path), wanted)
    assert labels(planned.ordered) == ["0", "of 0", "1", "of 1", "2", "of 2", "all"]


def test_complete_shards_need_no_inputs(tmp_path: Path) -> None:
    """Deleted captures are not computed again for tables that are there."""
    engine = build_engine(tmp_path)
    engine.require([total(numbers("a"))])
    engine.store.delete([engine.key(numbers("a"))])
    planned = plan(build_engine(tmp_path), [total(numbers("a")), numbers("b")])
    assert labels(planned.present) == ["sum"]
    assert labels(planned.missing) == ["b"]


def test_all_processes_of_a_run_plan_alike(tmp_path: Path) -> None:
    """pytest-xdist refuses workers that collect other items; a late one must not miss what is there by now."""
    controller = build_engine(tmp_path)
    snapshot = controller.snapshot()
    controller.require([numbers("a")])
    worker = Engine.from_snapshot(build_study(tmp_path), build_subjects(), snapshot)
    assert labels(plan(worker, [total(numbers("a"))]).missing) == ["a", "sum"]


def test_cost_without_experience(tmp_path: Path) -> None:
    """`resolvent plan` must say something before the first run."""
    planned = plan(
        build_engine(tmp_path), [numbers("a", matrices=600), numbers("m", stage=HEAVY, matrices=0)], workers=2
    )
    assert planned.minutes == pytest.approx((600 * SECONDS_A_MATRIX + SECONDS_WITH_MODEL) / 2 / 60)
    assert planned.mebibytes == pytest.approx(BYTES_WITH_MODEL / MEBIBYTE, rel=0.1)


def test_cost_from_experience(tmp_path: Path) -> None:
    """Earlier shards of the stage say what a matrix takes on this machine."""
    engine = build_engine(tmp_path)
    engine.require([numbers("a", matrices=10, seconds=0.05)])
    (entry,) = engine.store.entries()
    planned = plan(build_engine(tmp_path), [numbers("b", matrices=40)])
    assert planned.minutes == pytest.approx(4 * entry.seconds / 60)
    assert planned.mebibytes == pytest.approx(4 * entry.bytes / MEBIBYTE)


def test_nothing_to_do_costs_nothing(tmp_path: Path) -> None:
    """A warm run says so."""
    planned = plan(build_engine(tmp_path), [])
    assert (planned.matrices, planned.minutes, planned.mebibytes, planned.ordered) == (0, 0, 0, ())
    assert progress(planned.store, planned.work(), 1.0) == Progress(done=0, total=0, rate=0.0, left=0.0)


def test_progress_counts_what_any_process_has_completed(tmp_path: Path) -> None:
    """The controller computes nothing itself; it sees the store and the work of the plan, as plain types."""
    engine = build_engine(tmp_path)
    planned = plan(engine, [numbers("a", matrices=30), numbers("b", matrices=10), numbers("c", matrices=20)])
    work = {key: tuple(value) for key, value in json.loads(json.dumps(planned.work())).items()}
    before = progress(engine.store, work, 5.0)
    assert (before.done, before.total, before.rate) == (0, 3, 0.0)
    assert math.isnan(before.left)
    engine.require([numbers("a", matrices=30), numbers("x")])
    now = progress(engine.store, work, 6.0)
    assert (now.done, now.total, now.rate) == (1, 3, 5.0)
    assert now.left == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (Progress(0, 61, 0.0, math.nan), "evidence 0/61 shards, 0 matrices/s, time left unknown"),
        (Progress(12, 61, 4321.4, 125.0), "evidence 12/61 shards, 4,321 matrices/s, 2 min left"),
        (Progress(60, 61, 4321.4, 7.6), "evidence 60/61 shards, 4,321 matrices/s, 8 s left"),
    ],
)
def test_progress_line(state: Progress, line: str) -> None:
    """One short line every ten seconds."""
    assert str(state) == line
