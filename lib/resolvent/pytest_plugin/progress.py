"""A line every ten seconds: shards done, matrices per second, time left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

PERIOD_SECONDS = 10.0
# The first shards hold what the others don't: a model that is loaded, kernels that are compiled.
SHARDS_BEFORE_A_GUESS = 3


class Progress:
    """Runs in the controller, which sees reports only: it counts evidence items as they are collected and reported.

    total, done  shards of this run
    matrices     analysed so far
    _written     when a line was last written (time.monotonic seconds)
    _thread      writes where no report arrives for long; only under xdist, since pytest captures what a process
                 writes while it runs an item itself
    """

    def __init__(self, write_line: Callable[[str], object]) -> None:
        self._write_line = write_line
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="resolvent-progress", daemon=True)
        self._started = self._written = time.monotonic()
        self.total = 0
        self.done = 0
        self.matrices = 0

    def start(self, total: int, *, in_background: bool) -> None:
        """Begins to report on `total` shards; called once, when collection is known."""
        self.total = total
        self._started = self._written = time.monotonic()
        if total and in_background:
            self._thread.start()

    def shard_done(self, matrices: int) -> None:
        """Counts a shard; a line follows where the last is old enough."""
        self.done += 1
        self.matrices += matrices
        self._write_if_due()

    def stop(self) -> None:
        self._stop.set()

    def line(self, now: float) -> str:
        """The line as of `now` (time.monotonic seconds)."""
        elapsed = max(now - self._started, 1e-9)
        text = f"evidence: {self.done}/{self.total} shards, {self.matrices / elapsed:,.0f} matrices/s"
        if self.done >= SHARDS_BEFORE_A_GUESS:
            text += f", about {_duration(elapsed / self.done * (self.total - self.done))} left"
        return text

    def _write_if_due(self) -> None:
        now = time.monotonic()
        if now - self._written >= PERIOD_SECONDS:
            self._written = now
            self._write_line(self.line(now))

    def _watch(self) -> None:
        while self.done < self.total and not self._stop.wait(1.0):
            self._write_if_due()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def terminal_writer(config: pytest.Config) -> Callable[[str], None]:
    """A function that writes a whole line to pytest's terminal, or to nowhere under `-p no:terminal`."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")

    def write(line: str) -> None:
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    return write
