"""Crossings of trajectories: planted ones are found where they were planted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.statistics import InvalidSample, crossing, first_crossing, interpolated_crossing, sustained_crossing

trajectories = st.lists(st.floats(-1e3, 1e3, allow_nan=False), min_size=2, max_size=13).map(np.array)


def test_a_step_is_crossed_where_it_is():
    """All three agree on a clean step; the interpolated one lies half way into it."""
    step = np.array([0.0, 0, 0, 1, 1])
    assert (first_crossing(step), sustained_crossing(step), interpolated_crossing(step)) == (3, 3, 2.5)


def test_a_fall_is_crossed_like_a_rise():
    """Damping falls, scores rise; both have onsets."""
    fall = np.array([4.0, 3.5, 1.9, 1.0, 0.0])
    rise = 4 - fall
    for find in (first_crossing, sustained_crossing, interpolated_crossing):
        assert find(fall) == find(rise)
    assert first_crossing(fall) == 2


def test_an_overshoot_is_first_but_not_sustained():
    """A bump that goes back is an onset by the first rule and none by the other."""
    bump = np.array([0.0, 0.8, 0.1, 0.2, 1.0])
    assert first_crossing(bump) == 1
    assert sustained_crossing(bump) == 4


def test_the_first_crossing_may_lie_on_the_other_side():
    """|v_t - v_0| has no sign; the interpolation then runs to the level on that side."""
    other = np.array([0.0, -2.0, 1.0, 2.0])
    assert first_crossing(other) == 1
    assert interpolated_crossing(other) == pytest.approx(0.5)
    assert sustained_crossing(other) == 2


def test_a_trajectory_without_change_is_crossed_at_once():
    """Half of nothing is reached at the first checkpoint."""
    flat = np.full(5, 3.0)
    assert first_crossing(flat) == sustained_crossing(flat) == interpolated_crossing(flat) == 0


def test_interpolation_is_linear_between_two_checkpoints():
    """Half of 4 is reached a quarter of the way from 1 to 5 behind checkpoint 1."""
    assert interpolated_crossing(np.array([0.0, 1.0, 5.0, 4.0])) == pytest.approx(1.25)


def test_heads_are_crossed_one_by_one():
    """Trailing axes are independent."""
    both = np.stack([np.array([0.0, 1, 1, 1]), np.array([0.0, 0, 0, 1])], axis=1)
    assert first_crossing(both).tolist() == [1, 3]
    assert interpolated_crossing(both).tolist() == [0.5, 2.5]
    assert sustained_crossing(both).tolist() == [1, 3]


@given(trajectories)
@settings(max_examples=200, deadline=None)
def test_crossings_are_what_their_definitions_say(values):
    """Against the definitions written out."""
    half = abs(values[-1] - values[0]) / 2
    first = next(t for t in range(len(values)) if abs(values[t] - values[0]) >= half)
    assert first_crossing(values) == first
    position = interpolated_crossing(values)
    assert max(0, first - 1) <= position <= first
    middle = (values[0] + values[-1]) / 2
    stays = sustained_crossing(values)
    tolerance = 1e-9 * (1 + np.abs(values).max())
    if values[-1] == values[0]:
        assert stays == 0
        return
    rises = values[-1] > values[0]
    beyond = values - middle >= -tolerance if rises else values - middle <= tolerance
    assert beyond[stays:].all()
    if stays > 0:
        assert (values[stays - 1] < middle + tolerance) if rises else (values[stays - 1] > middle - tolerance)


@given(trajectories, st.floats(0.1, 10), st.floats(-10, 10))
@settings(max_examples=100, deadline=None)
def test_a_change_of_scale_and_origin_moves_nothing_by_a_checkpoint(values, scale, shift):
    """Onsets compare quantities with different units."""
    spread = np.abs(values - values[0])
    if np.abs(spread - spread[-1] / 2).min() > 1e-6:  # no value sits on the threshold, where rounding decides
        assert first_crossing(scale * values + shift) == first_crossing(values)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.array([1.0]), "at least two"),
        (np.array([1.0, np.nan]), "finite"),
        (np.float64(1), "at least two"),
    ],
)
def test_no_trajectory_is_refused(values, says):
    """A NaN must not become an onset."""
    for find in (first_crossing, sustained_crossing, interpolated_crossing):
        with pytest.raises(InvalidSample, match=says):
            find(values)


def test_a_protocol_names_the_rule():
    """An unknown word is an error, not a default."""
    assert crossing("sustained", np.array([0.0, 0.8, 0.1, 1.0])) == 3
    with pytest.raises(InvalidSample, match="no crossing 'smooth'; allowed are first, interpolated, sustained"):
        crossing("smooth", np.array([0.0, 1.0]))
