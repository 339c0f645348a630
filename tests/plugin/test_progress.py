"""The progress line."""

import threading

from resolvent.pytest_plugin.progress import PERIOD_SECONDS, Progress


def test_the_line_says_how_far_how_fast_and_how_long():
    """What a user waits for, on a controller that sees reports only."""
    progress = Progress(print)
    progress.start(10, in_background=False)
    for _ in range(4):
        progress.shard_done(500)
    assert progress.line(progress._started + 20) == "evidence: 4/10 shards, 100 matrices/s, about 30 s left"


def test_nobody_guesses_from_two_shards():
    """The first one loads the model: seven times too long was said."""
    progress = Progress(print)
    progress.start(10, in_background=False)
    for left in ("", "", "about 47 s left"):
        progress.shard_done(1)
        assert progress.line(progress._started + 20).partition("matrices/s")[2].strip(", ") == left


def test_a_line_every_ten_seconds_and_no_more():
    """A line a shard would bury pytest's own output."""
    written = []
    progress = Progress(written.append)
    progress.start(10, in_background=False)
    progress.shard_done(1)
    assert written == []
    progress._written -= PERIOD_SECONDS
    progress.shard_done(1)
    progress.shard_done(1)
    assert [line.partition(",")[0] for line in written] == ["evidence: 2/10 shards"]


def test_a_line_also_while_no_report_arrives():
    """Under xdist a worker may compute for long; the controller still says that it lives."""
    came = threading.Event()
    progress = Progress(lambda _: came.set())
    progress.start(10, in_background=True)
    progress._written -= PERIOD_SECONDS
    assert came.wait(30)
    progress.stop()
    progress._thread.join(30)
    assert not progress._thread.is_alive()


def test_no_shards_no_thread():
    """A warm run has nothing to report."""
    progress = Progress(print)
    progress.start(0, in_background=True)
    assert not progress._thread.is_alive()
