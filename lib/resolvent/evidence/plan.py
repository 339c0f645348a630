"""Which shards a set of wanted ones needs, in which order, at what cost, and how far a run has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from resolvent.evidence.store import MEBIBYTE

if TYPE_CHECKING:
    from resolvent.evidence.engine import Engine
    from resolvent.evidence.shards import Shard, Stage
    from resolvent.evidence.store import Store

# Rates for a stage of which the store has no shard yet.
SECONDS_A_MATRIX = 1e-3
SECONDS_WITH_MODEL = 3.0
SECONDS_ELSE = 0.1
BYTES_A_MATRIX = 250.0
BYTES_WITH_MODEL = 64.0 * MEBIBYTE
BYTES_ELSE = 64.0 * 1024


@dataclass(frozen=True)
class Cost:
    """Of one shard: seconds of one core, bytes in the store."""

    seconds: float
    bytes: float


@dataclass(frozen=True)
class Plan:
    """What a run needs of the evidence.

    ordered   every shard once, inputs before what reads them
    present   those complete when the run began; with `missing`, a partition of `ordered`
    missing   those to compute
    keys      of the missing, in the same order
    workers   how many processes share the work
    """

    ordered: tuple[Shard, ...]
    present: tuple[Shard, ...]
    missing: tuple[Shard, ...]
    keys: tuple[str, ...]
    workers: int
    store: Store

    @property
    def matrices(self) -> int:
        """How many matrices the missing shards analyse."""
        return sum(shard.matrices for shard in self.missing)

    @property
    def minutes(self) -> float:
        """Expected wall time of the missing shards."""
        return sum(cost.seconds for cost in self.costs) / self.workers / 60

    @property
    def mebibytes(self) -> float:
        """Expected size of the missing shards in the store."""
        return sum(cost.bytes for cost in self.costs) / MEBIBYTE

    @cached_property
    def costs(self) -> tuple[Cost, ...]:
        """Of the missing shards, from what the store says of earlier ones of the stage. Reads all sidecars once."""
        rates = _rates(self.store)
        return tuple(_cost(shard, rates) for shard in self.missing)

    def work(self) -> dict[str, tuple[int, float]]:
        """Key -> matrices and expected seconds of each missing shard: what `progress` needs, in plain types."""
        return {
            key: (shard.matrices, cost.seconds)
            for key, shard, cost in zip(self.keys, self.missing, self.costs, strict=True)
        }


def plan(engine: Engine, wanted: Iterable[Shard], *, workers: int = 1) -> Plan:
    """The wanted shards and all that the missing ones need.

    A shard that was complete when the run began needs none of its inputs. Those that need little come first, each
    right after its inputs: nothing waits for the whole of an earlier stage. The order depends on the wanted shards and
    the snapshot alone, so all processes of a run plan alike.
    """
    ordered: dict[str, Shard] = {}
    needs: dict[str, frozenset[str]] = {}

    def needed(shard: Shard) -> frozenset[str]:
        key = engine.key(shard)
        if key not in needs:
            given = () if key in engine.present else shard.inputs
            needs[key] = frozenset({key}).union(*(needed(shard) for shard in given))
        return needs[key]

    def visit(shard: Shard) -> None:
        key = engine.key(shard)
        if key not in ordered:
            if key not in engine.present:
                for given in shard.inputs:
                    visit(given)
            ordered[key] = shard

    for shard in sorted(wanted, key=lambda shard: len(needed(shard))):
        visit(shard)
    missing = {key: shard for key, shard in ordered.items() if key not in engine.present}
    return Plan(
        ordered=tuple(ordered.values()),
        present=tuple(shard for key, shard in ordered.items() if key in engine.present),
        missing=tuple(missing.values()),
        keys=tuple(missing),
        workers=max(1, workers),
        store=engine.store,
    )


@dataclass(frozen=True)
class Progress:
    """How far the missing shards of a plan have come; `str` is the line for a terminal.

    rate      matrices a second since the run began
    left      expected seconds to the end, NaN before the first shard is done
    """

    done: int
    total: int
    rate: float
    left: float

    def __str__(self) -> str:
        if self.left != self.left:
            left = "time left unknown"
        else:
            left = f"{self.left / 60:.0f} min left" if self.left >= 90 else f"{self.left:.0f} s left"
        return f"evidence {self.done}/{self.total} shards, {self.rate:,.0f} matrices/s, {left}"


def progress(store: Store, work: Mapping[str, tuple[int, float]], elapsed: float) -> Progress:
    """Counts the sidecars of `Plan.work()` that are there now: one listing of a folder. `elapsed` in seconds."""
    complete = store.keys()
    done = [work[key] for key in work if key in complete]
    expected = sum(seconds for _, seconds in work.values())
    spent = sum(seconds for _, seconds in done)
    return Progress(
        done=len(done),
        total=len(work),
        rate=sum(matrices for matrices, _ in done) / elapsed if elapsed > 0 else 0.0,
        left=elapsed * (expected - spent) / spent if spent > 0 else (float("nan") if work else 0.0),
    )


@dataclass(frozen=True)
class _Rate:
    """Means over shards in the store: of those that analyse matrices, and of those that don't."""

    a_matrix: Cost | None
    a_shard: Cost | None


def _rates(store: Store) -> dict[tuple[str, int, str | None], _Rate]:
    """By stage, version and subject; subject None: over all subjects."""
    sums: dict[tuple[str, int, str | None], dict[bool, list[float]]] = {}
    for entry in store.entries():
        for subject in (entry.subject, None):
            total = sums.setdefault((entry.stage, entry.version, subject), {}).setdefault(entry.matrices > 0, [0, 0, 0])
            total[0] += entry.matrices or 1
            total[1] += entry.seconds
            total[2] += entry.bytes
    means = {
        which: {of: Cost(seconds / count, size / count) for of, (count, seconds, size) in totals.items()}
        for which, totals in sums.items()
    }
    return {which: _Rate(of.get(True), of.get(False)) for which, of in means.items()}


def _cost(shard: Shard, rates: Mapping[tuple[str, int, str | None], _Rate]) -> Cost:
    stage = shard.stage
    known = (rates.get((stage.name, stage.version, subject)) for subject in (shard.subject, None))
    rate = next((rate for rate in known if rate), None) or _default(stage)
    if shard.matrices:
        unit = rate.a_matrix or Cost(SECONDS_A_MATRIX, BYTES_A_MATRIX)
        return Cost(unit.seconds * shard.matrices, unit.bytes * shard.matrices)
    return rate.a_shard or Cost(SECONDS_ELSE, BYTES_ELSE)


def _default(stage: Stage) -> _Rate:
    with_model = Cost(SECONDS_WITH_MODEL, BYTES_WITH_MODEL)
    return _Rate(None, with_model if stage.loads_model else None)
