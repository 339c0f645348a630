"""The table that a claim test leaves."""

from builders import criterion, unmet, verdict_line

from resolvent.report.criteria_table import criteria_table

LINE = verdict_line(
    "refuted",
    criteria=[
        criterion(value=0.1, margin=-0.4, holds=False, refuted=True),
        criterion(name="a_long_name_of_a_criterion", low=0.8, high=0.95),
    ],
    requirements=[unmet()],
)


def test_rows_where_the_terminal_holds_them():
    """A width changes nothing that fits."""
    wide = criteria_table(LINE)
    assert "large                       size    0.1" in wide
    assert criteria_table(LINE, width=200) == wide


def test_paragraphs_where_it_does_not():
    """Rows that the terminal breaks can't be read; no cell is lost."""
    table = criteria_table(LINE, width=48)
    rows = table.splitlines()[2:]
    assert max(map(len, rows)) <= 48
    words = " ".join(table.split())
    assert "large, metric size, value 0.1, support >= 0.5, refute < 0.3, margin -0.4, holds refute" in words
    assert "a_long_name_of_a_criterion, metric size, value 0.9 [0.8, 0.95], support >= 0.5" in words
    assert "requires, metric heads, value 1, support >= 2, holds unmet" in words
