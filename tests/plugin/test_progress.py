"""The progress line."""

from resolvent.pytest_plugin.progress import Progress


def test_the_line_says_how_far_how_fast_and_how_long():
    """What a user waits for, on the controller that sees reports only."""
    written = []
    progress = Progress(written.append)
    progress.start(10)
    for _ in range(4):
        progress.shard_done(500)
    progress.stop()
    line = progress.line(progress._started + 20)
    assert line == "evidence: 4/10 shards, 100 matrices/s, about 30 s left"
    assert written == []


def test_no_shards_no_thread():
    """A warm run has nothing to report."""
    progress = Progress(print)
    progress.start(0)
    assert not progress._thread.is_alive()
