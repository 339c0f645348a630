"""Workers that die: their item goes back to the queue, and those that die while they start are started again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

# An item that kills three workers is at fault itself; and so is a machine on which three in a row don't start.
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
    def pytest_xdist_setupnodes(self, config: pytest.Config) -> None:
        """A worker that dies while it starts is started again: pytest-xdist 3.8 would end the session."""
        manager = config.pluginmanager.getplugin("dsession").nodemanager
        manager.setup_node = _persistent(manager.setup_node, manager.group)


def _persistent(setup_node: Callable[..., Any], group: Any) -> Callable[..., Any]:
    """`setup_node` of a node manager, which tries again, under a new name, where the new process is gone."""

    def setup(spec: Any, putevent: Any) -> Any:
        for _ in range(_RETRIES):
            with suppress(EOFError, OSError):
                return setup_node(spec, putevent)
            spec.id = None
            group.allocate_id(spec)
        return setup_node(spec, putevent)

    return setup
