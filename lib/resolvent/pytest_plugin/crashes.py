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
