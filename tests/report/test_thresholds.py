"""Which verdicts are flagged as near a threshold."""

import pytest
from builders import criterion

from resolvent.report.thresholds import near, predicates


@pytest.mark.parametrize(
    ("value", "low", "high", "flagged"),
    [
        (0.6, 0.55, 0.65, False),
        (0.6, 0.45, 0.75, True),  # support's threshold inside
        (0.2, 0.1, 0.35, True),  # refute's threshold inside
        (0.5, 0.5, 0.5, True),
        (0.54, None, None, True),
        (0.56, None, None, False),
        (0.28, None, None, True),
        (0.4, None, None, False),
    ],
)
def test_near_means_inside_the_interval_or_a_tenth_of_the_threshold(value, low, high, flagged):
    """Support from 0.5, refute below 0.3: either threshold counts."""
    result = criterion(value=value, low=low, high=high, support=">= 0.5", refute="< 0.3")
    assert bool(near(result)) is flagged


def test_a_threshold_of_zero_has_no_tenth():
    """A share of nothing is nothing: only an interval can hold it."""
    assert not near(criterion(value=1e-9, support="> 0", refute="<= 0"))
    assert near(criterion(value=0.1, low=-0.1, high=0.3, support="low > 0", refute="high <= 0"))


def test_the_reason_names_the_threshold():
    """A flag without a number could not be checked."""
    assert "0.999998" in near(criterion(value=1.0, support=">= 0.999998", refute="< 0.999998"))


def test_predicates_are_those_of_the_run():
    """The line keeps them in words; an amended claim must not change an old report."""
    support, refute = predicates(criterion(support="low >= 0.5", refute="high < 0.3"))
    assert (support.at_least, support.bound, refute.below, refute.bound) == (0.5, "low", 0.3, "high")
