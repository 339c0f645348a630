"""The certified Kreiss constant of the deflated operator."""

import numpy as np
import pytest
from causal_samples import (
    all_on_token_one,
    causal_matrices,
    identity,
    permuted_rows,
    previous_token,
    resolvent_norm,
    resolvent_norm_from_leaks,
    sink_mixture,
    softmax_head,
    uniform_average,
    with_numerical_abscissa,
)
from hypothesis import given, settings

from resolvent.operators import CausalStochasticError, kreiss_constant, raw_kreiss_constant

GAP = 1e-6

SAMPLES = {
    "diffuse": softmax_head(48, 1.0, 0.0, 0),
    "sharp": softmax_head(48, 5.0, 0.0, 1),
    "sink": softmax_head(48, 1.5, 3.0, 2),
    "null of a sink": permuted_rows(softmax_head(48, 1.5, 6.0, 3), 0),
    "null of a sharp sink": permuted_rows(softmax_head(48, 2.0, 12.0, 4), 1),
    "one-hot": permuted_rows(np.eye(48), 2),
    "two peaks": np.block(
        [
            [previous_token(24), np.zeros((24, 24))],
            [np.full((24, 1), 1e-6), np.zeros((24, 23)), (1.0 - 1e-6) * np.eye(24)],
        ]
    ),
}


def two_by_two(p, n):
    """K of [[0, 0], [p √(n−1), p]] by a fine search over r: the sink mixture's reduction."""
    x = np.geomspace(1e-12, 1e2, 400_001)
    c = p * np.sqrt(n - 1)
    r = 1.0 + x
    # ‖[[1/r, 0], [c/(r(r−p)), 1/(r−p)]]‖₂ from trace and determinant of its Gram matrix
    a, b, d = 1 / r, c / (r * (r - p)), 1 / (r - p)
    trace, determinant = a**2 + b**2 + d**2, (a * d) ** 2
    return np.max(x * np.sqrt((trace + np.sqrt(trace**2 - 4 * determinant)) / 2))


def assert_certified(K, gap=GAP):
    assert 1.0 <= K.lower <= K.upper <= K.lower * (1.0 + gap)


@pytest.mark.parametrize("n", [1, 2, 3, 64, 128])
def test_identity_has_the_square_root_of_n(n):
    """(r−1)(rI − I_dev)^{-1} tends to A_dev itself, of norm √n, as r → 1."""
    K = kreiss_constant(identity(n))
    assert_certified(K)
    assert K.lower == pytest.approx(np.sqrt(n), rel=GAP)


def test_the_previous_token_head_has_its_published_value():
    """Its resolvent is a finite sum of shifts."""
    K = kreiss_constant(previous_token(128))
    assert_certified(K)
    assert K.lower == pytest.approx(9.630978, abs=1e-6)


def test_uniform_averaging_has_its_published_value():
    """A smooth, single maximum."""
    K = kreiss_constant(uniform_average(128))
    assert_certified(K)
    assert K.lower == pytest.approx(5.784086, abs=1e-6)


@pytest.mark.parametrize("p", [0.9, 0.3, 1.0 - 1e-9, 1.0 - 1e-13])
def test_a_sink_mixture_equals_its_two_by_two(p):
    """span{e0, 1} is invariant; near p = 1 the maximum is flat over decades of r − 1 and must still be certified."""
    K = kreiss_constant(sink_mixture(p, 128))
    assert_certified(K)
    assert K.lower == pytest.approx(max(1.0, two_by_two(p, 128)), rel=GAP)


def test_the_published_sink_mixture():
    """The value printed beside the definition."""
    assert kreiss_constant(sink_mixture(0.9, 128)).lower == pytest.approx(5.90851942, rel=1e-8)


def test_all_rows_on_token_one_reach_the_ceiling():
    """Every walk is absorbed at once and survives for ever."""
    K = kreiss_constant(all_on_token_one(128))
    assert_certified(K)
    assert K.lower == pytest.approx(np.sqrt(254), rel=GAP)
    assert K.at == pytest.approx(1.0)


def test_two_by_two_is_at_the_floor_up_to_its_threshold():
    """At n = 2, K = 1 exactly if and only if a_11 ≤ 2(√2 − 1)."""
    threshold = 2.0 * (np.sqrt(2.0) - 1.0)
    for a, at_floor in ((0.5, True), (threshold - 1e-9, True), (threshold + 1e-3, False)):
        K = kreiss_constant(np.array([[1.0, 0.0], [1.0 - a, a]]))
        assert (K.upper == 1.0) is at_floor
        assert_certified(K)


def test_a_strong_sink_is_exactly_at_the_floor():
    """Noise at the floor would turn into false signs of rank tests."""
    K = kreiss_constant(softmax_head(64, 1.0, 9.0, 0))
    assert (K.lower, K.upper, K.at) == (1.0, 1.0, np.inf)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_bounds_enclose_a_dense_search(name):
    """An SVD at thousands of r needs neither the killed chain nor the certificate."""
    A = SAMPLES[name]
    K = kreiss_constant(A)
    assert_certified(K, 1e-5 if "null" in name else GAP)
    x = np.geomspace(1e-7, 1e2, 1200)
    dense = max(t * resolvent_norm(A, 1.0 + t) for t in x)
    assert dense <= K.upper * (1.0 + 1e-8)
    assert dense >= K.lower * (1.0 - 1e-4)
    if 1.0 + 1e-7 < K.at < np.inf:
        assert (K.at - 1.0) * resolvent_norm(A, K.at) == pytest.approx(K.lower, rel=1e-8)


@pytest.mark.parametrize("leak", [1e-8, 1e-16, 1e-24])
def test_a_tiny_leak_is_certified(leak):
    """r − a_ii is formed as (r − 1) + leak: by subtraction these rows would look absorbing."""
    A = permuted_rows(softmax_head(32, 3.0, 0.0, 5), 0)
    A[3] = 0.0
    A[3, 3], A[3, 1] = 1.0, leak
    assert_certified(kreiss_constant(A))


@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_sizes(n):
    """n = 1 has no row to speak of: K = 1."""
    assert kreiss_constant(identity(1)).upper == 1.0
    assert_certified(kreiss_constant(uniform_average(n)))


def test_a_thousand_positions():
    """No size is typed into the kernels."""
    assert_certified(kreiss_constant(softmax_head(1024, 2.0, 2.0, 0)))


@settings(max_examples=150, deadline=None)
@given(causal_matrices())
def test_certified_between_the_floor_and_the_ceiling(A):
    """1 ≤ K ≤ max(1, √(2(n−1))), K ≥ ‖B·1‖/4 (the border at r = 2), and the gap always closes."""
    K = kreiss_constant(A)
    assert_certified(K)
    survivors = 1.0 - A[1:, 0]
    assert K.upper >= np.linalg.norm(survivors) / 4.0
    assert K.lower <= max(1.0, np.sqrt(2.0 * (len(A) - 1))) * (1.0 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(causal_matrices(max_size=6))
def test_no_point_of_the_axis_or_the_circle_exceeds_the_upper_bound(A):
    """The certificate is about every z, so any sample of z must obey it."""
    K = kreiss_constant(A)
    deflated = A.copy()
    deflated[:, 0] -= 1.0
    for x in np.geomspace(1e-6, 1e3, 40):
        for angle in (0.0, 0.3, 2.0, np.pi):
            z = (1.0 + x) * np.exp(1j * angle)
            norm = 1.0 / np.linalg.svd(z * np.eye(len(A)) - deflated, compute_uv=False)[-1]
            assert x * norm <= K.upper * (1.0 + 1e-7)


def test_padding_with_rows_on_bos_changes_nothing():
    """A row that is killed at once adds a zero row and column to the killed chain."""
    A = softmax_head(20, 1.5, 0.5, 0)
    padded = np.zeros((25, 25))
    padded[:20, :20] = A
    padded[20:, 0] = 1.0
    assert kreiss_constant(padded).lower == pytest.approx(kreiss_constant(A).lower, rel=GAP)


def test_a_budget_that_ends_first_leaves_an_honest_gap():
    """The bounds stay bounds; only their distance grows."""
    A = SAMPLES["null of a sharp sink"]
    full, short = kreiss_constant(A), kreiss_constant(A, budget=6)
    assert short.lower <= full.upper
    assert short.upper >= full.lower
    assert short.evaluations < full.evaluations


def test_refuses_what_is_not_causal_stochastic():
    """A general matrix has no real-axis theorem."""
    with pytest.raises(CausalStochasticError, match="row 0, column 1"):
        kreiss_constant(np.full((2, 2), 0.5))


def test_the_undeflated_constant_saturates_without_an_absorbing_row():
    """(r−1)(rI − A)^{-1} tends to P, of norm √n, if every walk ends at BOS; a surviving walk keeps it below."""
    for A in (
        uniform_average(128),
        sink_mixture(1.0, 16, leak=1e-24),
        permuted_rows(softmax_head(64, 2.0, 12.0, 4), 3),
    ):
        assert raw_kreiss_constant(A) == pytest.approx(np.sqrt(len(A)), rel=1e-9)
    for A in (identity(16), all_on_token_one(16)):
        assert raw_kreiss_constant(A) < np.sqrt(16) * 0.999


@pytest.mark.parametrize("spread", [8, 16, 30, 60])
@pytest.mark.parametrize("n", [8, 16, 64])
def test_sharp_softmax_rows_and_their_nulls_are_certified(n, spread):
    """Leaks lie decades apart, so the maximum may lie decades away from every hill that a climb would find."""
    for seed in range(12):
        head = softmax_head(n, spread, 0.0, seed)
        for A in (head, permuted_rows(head, seed)):
            K = kreiss_constant(A)
            assert_certified(K)
            for x in np.geomspace(1e-60, 1e3, 120):
                assert x * resolvent_norm_from_leaks(A, x) <= K.upper * (1 + 1e-12)


@pytest.mark.parametrize("above", [1e-2, 1e-3, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("n", [3, 8, 40])
def test_just_above_the_floor(n, above):
    """ω = 1 + above: the resolvent is nearly a multiple of the identity wherever the product is near its maximum."""
    for seed in range(4):
        head = 0.9 * all_on_token_one(n) + 0.1 * softmax_head(n, 2.0, 0.0, seed)
        K = kreiss_constant(with_numerical_abscissa(head, 1.0 + above))
        assert_certified(K)
        assert K.lower <= 1.0 + above
        if above >= 1e-3:
            assert K.lower > 1.0


@pytest.mark.parametrize("leak", [5e-324, 1e-320, 1e-310, 1e-300, 1e-280])
def test_a_leak_that_a_reciprocal_cannot_hold_counts_as_none(leak):
    A = identity(6)
    A[3, :2] = leak
    A[5, 4], A[5, 5] = 0.25, 0.75
    absorbing = A.copy()
    absorbing[3, :2] = 0.0
    K = kreiss_constant(A)
    assert_certified(K)
    assert K.lower == pytest.approx(kreiss_constant(absorbing).lower, rel=1e-6)


def test_the_upper_bound_is_never_above_the_ceiling_however_small_the_budget():
    A = permuted_rows(softmax_head(32, 30.0, 0.0, 5), 5)
    for budget in (1, 3, 10):
        K = kreiss_constant(A, budget=budget)
        assert K.lower <= K.upper <= np.sqrt(2 * 31) * (1 + 1e-15)


def test_a_budget_above_the_default_has_room_for_its_points():
    """The number of points a search may keep follows its budget."""
    from resolvent.operators._real_axis import axis_work_space

    assert axis_work_space(4, 5000)[2].shape[0] > 5000
    assert_certified(kreiss_constant(permuted_rows(softmax_head(32, 30.0, 0.0, 5), 5), budget=5000))
