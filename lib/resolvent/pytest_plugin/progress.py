"""A line every ten seconds: shards done, matrices per second, time left."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

_PERIOD_SECONDS = 10.0


class Progress:
    """Runs in the controller, which sees reports only: it counts evidence items as they are collected and reported.

    total, done  shards of this run
    matrices     analysed so far
    """

    def __init__(self, write_line: Any) -> None:
        self._write_line = write_line
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="resolvent-progress", daemon=True)
        self._started = time.monotonic()
        self.total = 0
        self.done = 0
        self.matrices = 0

    def start(self, total: int) -> None:
        """Begins to report on `total` shards; called once, when collection is known."""
        if total and not self.total:
            self.total = total
            self._started = time.monotonic()
            self._thread.start()

    def shard_done(self, matrices: int) -> None:
        self.done += 1
        self.matrices += matrices

    def stop(self) -> None:
        self._stop.set()

    def line(self, now: float) -> str:
        """The line as of `now` (time.monotonic seconds)."""
        elapsed = max(now - self._started, 1e-9)
        text = f"evidence: {self.done}/{self.total} shards, {self.matrices / elapsed:,.0f} matrices/s"
        if self.done:
            text += f", about {_duration(elapsed / self.done * (self.total - self.done))} left"
        return text

    def _run(self) -> None:
        while not self._stop.wait(_PERIOD_SECONDS):
            if self.done >= self.total:
                return
            self._write_line(self.line(time.monotonic()))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def terminal_writer(config: pytest.Config) -> Any:
    """A function that writes a whole line to pytest's terminal, or to nowhere under `-p no:terminal`."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")

    def write(line: str) -> None:
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    return write
