"""A terminal that knows few letters gets what is nearest."""

import io

import pytest

from resolvent.encodings import show_what_it_can


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", "claim x subject - 0.5 ... >= ?"), ("latin-1", "claim × subject - 0.5 ... >= ?"), ("utf-8", None)],
)
def test_what_the_encoding_lacks_is_nearest_ascii(encoding, shown):
    """pytest would write \\u2500 ninety-six times for a rule."""
    text = "claim × subject ─ 0.5 … ≥ 語"
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    show_what_it_can(stream)
    stream.write(text)
    stream.flush()
    assert raw.getvalue().decode(encoding) == (shown or text)


def test_other_streams_are_left_alone():
    """Under a test runner standard output is no file."""
    show_what_it_can(io.StringIO())
    show_what_it_can(None)
