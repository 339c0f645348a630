"""Which worker gets which item under `--dist=worksteal`: pytest-xdist's work stealing, shards before claims."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest


class Scheduling:
    """Runs in the controller."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Work stealing that hands out claims when there is no shard left to steal.

        A thief takes the end of a queue, where claims are: it would compute their shards in the order in which the
        robbed worker goes on, and each would wait for what the other is computing.

        And work stealing that survives workers dying at two moments at which pytest-xdist 3.8 would stop. While the
        session shuts down: a replacement that becomes ready then is told to leave, and is no node of the scheduler;
        where a further worker dies, the session goes on, and the one that leaves still reports its collection. And
        while work is being sent: the death of that worker, which is reported next, schedules anew.
        """
        if config.getoption("dist") != "worksteal":
            return None
        from xdist.scheduler import WorkStealingScheduling
        from xdist.scheduler.worksteal import MIN_PENDING

        class ShardsFirst(WorkStealingScheduling):
            pending: list[int]
            later: list[int] | None = None
            """The claims, as long as they are held back; None before anything is distributed."""

            def add_node_collection(self, node: Any, collection: Any) -> None:
                if node in self.node2pending:
                    super().add_node_collection(node, collection)

            @property
            def tests_finished(self) -> bool:
                return not self.later and super().tests_finished

            def check_schedule(self) -> None:
                if self.later is None and self.collection is not None:
                    shards = [item for item in self.pending if self.collection[item].startswith("evidence::")]
                    self.later = sorted(set(self.pending).difference(shards)) if shards else []
                    self.pending = shards or self.pending
                queues = [queue for node, queue in self.node2pending.items() if not node.shutting_down]
                # With fewer items than that somebody has nothing to steal, and would be sent home.
                if self.later and len(self.pending) + sum(map(len, queues)) < MIN_PENDING * len(queues):
                    self.pending, self.later = [*self.pending, *self.later], []
                with suppress(OSError):
                    super().check_schedule()

        return ShardsFirst(config, log)
