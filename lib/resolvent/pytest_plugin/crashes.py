"""Workers that die: their item goes back to the queue."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

# An item that kills three workers is at fault itself.
_RETRIES = 2


class Crashes:
    """Runs in the controller; `retries` counts what was put back, by node id."""

    def __init__(self) -> None:
        self.retries: Counter[str] = Counter()

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: Any) -> None:
        if self.retries[crashitem] < _RETRIES:
            self.retries[crashitem] += 1
            report.outcome = "rerun"
            sched.mark_test_pending(crashitem)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Work stealing that survives a worker dying while the session shuts down.

        A replacement that becomes ready meanwhile is told to leave, and is no node of the scheduler; where a further
        worker then dies, the session goes on, and pytest-xdist 3.8 would stop at the collection of the one that leaves.
        """
        if config.getoption("dist") != "worksteal":
            return None
        from xdist.scheduler import WorkStealingScheduling

        class Scheduling(WorkStealingScheduling):
            def add_node_collection(self, node: Any, collection: Any) -> None:
                if node in self.node2pending:
                    super().add_node_collection(node, collection)

        return Scheduling(config, log)
