"""`--resolvent-plan`: collect, say what would be computed, stop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from resolvent.evidence.plan import Plan
    from resolvent.pytest_plugin.collection import Collection
    from resolvent.pytest_plugin.study_run import StudyRun


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Planning needs one process only; and without a path it is about the whole study, wherever in it one stands."""
    if config.option.resolvent_plan:
        if config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR:
            config.args[:] = [str(config.rootpath / "claims")]
        config.option.resolvent_workers = getattr(config.option, "numprocesses", None)
        config.option.numprocesses = 0


class PlanOnly:
    """Prints the plan in place of running it."""

    def __init__(self, run: StudyRun, collection: Collection) -> None:
        self.run = run
        self.collection = collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        workers = session.config.option.resolvent_workers
        workers = workers if isinstance(workers, int) and workers else 1 if workers is None else os.cpu_count() or 1
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        planned = self.collection.planned
        if reporter is not None and planned is not None:
            for line in plan_lines(planned, workers):
                reporter.write_line(line)
            for reason in self.run.unavailable.values():
                reporter.write_line(f"UNAVAILABLE: {reason}", red=True)
        return True


def plan_lines(planned: Plan, workers: int) -> list[str]:
    """The plan in words: a line a stage, then the sum."""
    stages: dict[str, list[float]] = {}
    for shard, cost in zip(planned.missing, planned.costs, strict=True):
        total = stages.setdefault(f"{shard.stage.name} [{shard.subject}]", [0, 0, 0.0, 0.0])
        total[0] += 1
        total[1] += shard.matrices
        total[2] += cost.seconds / 60
        total[3] += cost.bytes / 2**20
    lines = [f"{len(planned.present)} shards are in the store, {len(planned.missing)} are missing"]
    width = max(map(len, stages), default=0)
    for name, (count, matrices, minutes, mebibytes) in stages.items():
        lines.append(
            f"  {name.ljust(width)}  {count:4.0f} shards {matrices:9,.0f} matrices "
            f"{minutes:7.1f} min {mebibytes:8.1f} MiB"
        )
    minutes = sum(total[2] for total in stages.values())
    lines.append(
        f"  in all {len(planned.missing)} shards, {planned.matrices:,} matrices, {planned.mebibytes:.1f} MiB, "
        f"about {minutes / workers:.1f} minutes with {workers} process{'es' if workers > 1 else ''}"
    )
    return lines
