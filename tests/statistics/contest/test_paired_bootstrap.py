from __future__ import annotations

import math

import numpy as np
import pytest

from resolvent.statistics import bootstrap
from resolvent.statistics.contest.paired_bootstrap import one_less, resamples, shares_of_spread

LAYERS = {"even": np.repeat(np.arange(12), 5), "uneven": np.sort(np.random.default_rng(0).integers(0, 12, 60))}


def generators(seed):
    return {name: np.random.default_rng([seed, len(name)]) for name in ("heads", "layers")}


def sample(seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(60), rng.standard_normal(60) ** 2, rng.standard_normal(60) ** 2


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("level", [0.95, 0.975])
def test_it_is_the_library_bootstrap_of_each_metric(layers, level):
    """One set of counts for all metrics must give what resampling rows for one metric gives."""
    y, e, p = sample(1)
    groups = {"heads": np.arange(60), "layers": LAYERS[layers]}

    def gain(rows):
        return ((e - p)[rows]).sum() / ((y[rows] - y[rows].mean()) ** 2).sum()

    expected = bootstrap(gain, groups=groups, level=level, draws=200, rngs=generators(2))
    found = shares_of_spread({"one": e, "gain": e - p}, y, resamples(groups, 200, generators(2)), level)["gain"]
    np.testing.assert_allclose(
        (found.value, found.low, found.high, found.undefined),
        (expected.value, expected.low, expected.high, expected.undefined),
        rtol=1e-12,
    )


def test_differences_are_paired():
    """Two families with the same errors differ by nothing in every resample, however wide the interval of each."""
    y, e, _ = sample(3)
    draws = resamples({"heads": np.arange(60)}, 100, generators(0))
    shares = shares_of_spread({"e": e, "difference": e - e}, y, draws, 0.95)
    assert (shares["difference"].low, shares["difference"].high) == (0.0, 0.0)
    assert shares["e"].high - shares["e"].low > 0.1


def test_resamples_without_spread_of_the_target_are_left_out_and_counted():
    """R² is undefined there; with one head apart, about e⁻¹ of the resamples lack it."""
    y = np.full(60, 1 / 3)
    y[7] = 2.0
    share = shares_of_spread({"e": np.ones(60)}, y, resamples({"heads": np.arange(60)}, 1000, generators(4)), 0.95)["e"]
    assert 300 < share.undefined < 440
    assert math.isfinite(share.low)
    assert math.isfinite(share.high)


def test_a_constant_target_has_no_r2():
    """0/0 is undefined, not a perfect score."""
    share = shares_of_spread(
        {"e": np.zeros(60)}, np.full(60, 0.1), resamples({"heads": np.arange(60)}, 10, generators(0)), 0.95
    )["e"]
    assert math.isnan(share.value)
    assert math.isnan(share.low)
    assert share.undefined == 10


def test_r2_is_one_less_the_share_of_error():
    """The upper end of the error is the lower end of R²."""
    y, e, _ = sample(5)
    share = shares_of_spread({"e": e}, y, resamples({"heads": np.arange(60)}, 100, generators(0)), 0.95)["e"]
    r2 = one_less(share)
    assert r2.low <= r2.value <= r2.high
    assert math.isclose(r2.value, 1 - e.sum() / ((y - y.mean()) ** 2).sum())
    assert (r2.low, r2.high) == (1 - share.high, 1 - share.low)
