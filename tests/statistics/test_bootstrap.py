from __future__ import annotations

import math

import numpy as np
import pytest

from resolvent.statistics import Interval, InvalidSample, bootstrap, spearman

HEADS = np.arange(60)
LAYERS = HEADS // 6


def over(names, statistic, *, draws=300, level=0.95, seed=0, layers=LAYERS):
    labels = {"heads": np.arange(len(layers)), "layers": layers}
    rngs = {name: np.random.default_rng([seed, len(name)]) for name in names}
    return bootstrap(statistic, groups={name: labels[name] for name in names}, level=level, draws=draws, rngs=rngs)


def test_all_rows_of_a_layer_go_together():
    """Heads of a layer share its effect; taking them apart would count the effect many times."""
    taken = []
    over(["layers"], lambda rows: taken.append(rows) or 0.0, draws=20, layers=np.array([5, 2, 2, 5, 9, 5]))
    for rows in taken[1:]:
        counts = np.bincount(rows, minlength=6)
        assert counts[0] == counts[3] == counts[5]
        assert counts[1] == counts[2]
        assert counts[0] + counts[1] + counts[4] == 3


def test_each_draw_of_heads_takes_as_many_as_there_are():
    """The spread wanted is that of the metric over this many heads."""
    taken = []
    over(["heads"], lambda rows: taken.append(rows) or 0.0, draws=20)
    np.testing.assert_array_equal(taken[0], HEADS)
    assert all(len(rows) == 60 and set(rows) <= set(HEADS) for rows in taken)
    assert len({tuple(rows) for rows in taken}) == 21


def test_the_ends_are_percentiles_of_the_draws_rounded_outwards():
    """2.5 and 97.5 % of 300 defined draws lie between order statistics; the outer ones are taken."""
    x = np.random.default_rng(1).standard_normal(60)
    values = []
    interval = over(["heads"], lambda rows: values.append(x[rows].mean()) or values[-1])
    drawn = np.array(values[1:])
    assert interval.value == values[0]
    assert interval.low == np.quantile(drawn, 0.025, method="lower")
    assert interval.high == np.quantile(drawn, 0.975, method="higher")


def test_of_both_groupings_the_wider_is_kept():
    """With a strong effect of the layer the heads' interval is far too narrow, and the other way round for none."""
    rng = np.random.default_rng(2)
    for x in (rng.standard_normal(10)[LAYERS], rng.standard_normal(60) - np.repeat([1, -1], 3)[HEADS % 6]):
        one, other, both = (
            over(names, lambda rows, x=x: x[rows].mean()) for names in (["heads"], ["layers"], ["heads", "layers"])
        )
        assert both == max(one, other, key=lambda i: i.high - i.low)
    assert over(["heads", "layers"], lambda rows: 1.0) == Interval(1.0, 1.0, 1.0, 0)


def test_undefined_draws_are_left_out_and_counted():
    """A resample without any head of a class has no median; that says nothing about the median."""
    rare = HEADS < 2
    values = []

    def median_of_rare(rows):
        values.append(float(np.median(rows[rare[rows]])) if rare[rows].any() else math.nan)
        return values[-1]

    interval = over(["heads"], median_of_rare)
    assert interval.undefined == sum(map(math.isnan, values)) > 0
    assert (interval.low, interval.high) == (0, 1)


def test_without_a_defined_draw_there_is_no_interval():
    """Neither end may be made up; another grouping's interval stands where there is one."""
    only_whole = iter([2.0] + 300 * [math.nan] + 300 * [1.0])
    interval = over(["heads"], lambda rows: next(only_whole))
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert (interval.value, interval.undefined) == (2.0, 300)
    only_whole = iter([2.0] + 300 * [math.nan] + 300 * [1.0])
    assert over(["heads", "layers"], lambda rows: next(only_whole)) == Interval(2.0, 1.0, 2.0, 300)


def test_without_rows_everything_is_undefined():
    """No head of a class is found out before the claim says that it needs some; it is no error here."""
    interval = over(["heads", "layers"], lambda rows: 1 / len(rows), layers=np.zeros(0, dtype=int))
    assert all(map(math.isnan, (interval.value, interval.low, interval.high)))


def test_a_value_outside_its_interval_widens_it():
    """The percentile interval of a biased metric (here a maximum) can miss its own value."""
    values = iter([5.0] + 300 * [1.0])
    assert over(["heads"], lambda rows: next(values)) == Interval(5.0, 1.0, 5.0, 0)


def test_infinite_metrics_are_not_interpolated():
    """Between −inf and −inf a linear quantile is NaN."""
    x = np.where(HEADS < 30, -math.inf, 1.0)
    interval = over(["heads"], lambda rows: float(np.median(x[rows[:1]])))
    assert (interval.low, interval.high, interval.undefined) == (-math.inf, 1.0, 0)


def test_equal_generators_give_equal_intervals():
    """The keys decide the resamples, nothing else does."""
    x = np.random.default_rng(3).standard_normal((2, 60))
    first, again = (over(["heads", "layers"], lambda rows: spearman(x[0, rows], x[1, rows])) for _ in range(2))
    assert first == again
    assert over(["heads", "layers"], lambda rows: spearman(x[0, rows], x[1, rows]), seed=1) != first


def test_intervals_of_pure_nulls_exclude_zero_at_most_at_their_level(pure_nulls, most_rejections, texts):
    """The mean excess of null heads is zero in expectation; its interval may miss that in one census in twenty."""
    kinds, censuses = sorted(pure_nulls.pools), 100
    missed = 0
    for kind in kinds:
        real, draws = pure_nulls.sample(kind, texts, 60 * censuses, seed=15)
        excess = (real - draws.mean(axis=0)).mean(axis=0).reshape(censuses, 60)
        for census, x in enumerate(excess):
            interval = over(["heads", "layers"], lambda rows, x=x: x[rows].mean(), draws=200, seed=census)
            missed += not interval.low <= 0 <= interval.high
    assert missed <= most_rejections(censuses * len(kinds), 0.05)


def test_correlations_of_pure_nulls_exclude_zero_at_most_at_their_level(pure_nulls, most_rejections, texts):
    """A null head's excess has nothing to do with a covariate, even with one that its layer shares."""
    kinds, censuses = sorted(pure_nulls.pools), 30
    rng = np.random.default_rng(16)
    missed = 0
    for kind in kinds:
        real, draws = pure_nulls.sample(kind, texts, 60 * censuses, seed=16)
        for census, x in enumerate(np.median(real - draws.mean(axis=0), axis=0).reshape(censuses, 60)):
            y = rng.standard_normal(10)[LAYERS] + rng.standard_normal(60)
            interval = over(
                ["heads", "layers"], lambda rows, x=x, y=y: spearman(x[rows], y[rows]), draws=200, seed=census
            )
            missed += not interval.low <= 0 <= interval.high
    assert missed <= most_rejections(censuses * len(kinds), 0.05)


def test_where_layers_have_an_effect_heads_alone_miss_the_truth(most_rejections):
    """Thirty layer means, normal: the percentile interval over layers misses in .064 of cases at 95 %.

    P(|t_29| > 1.960 √(29/30)), as the bootstrap's variance divides by 30 and its quantiles are the normal's. The heads'
    own interval counts each layer's effect nine times over.
    """
    rng = np.random.default_rng(17)
    layers, censuses = np.arange(270) // 9, 300
    missed = {"heads": 0, "both": 0}
    for census in range(censuses):
        x = rng.standard_normal(30)[layers] + rng.standard_normal(270)
        for name, names in (("heads", ["heads"]), ("both", ["heads", "layers"])):
            interval = over(names, lambda rows, x=x: x[rows].mean(), draws=200, seed=census, layers=layers)
            missed[name] += not interval.low <= 0 <= interval.high
    assert missed["both"] <= most_rejections(censuses, 0.065)
    assert missed["heads"] > 3 * most_rejections(censuses, 0.05)


@pytest.mark.parametrize(
    ("groups", "rngs", "draws", "words"),
    [
        ({}, {}, 10, "groups have the shapes"),
        ({"heads": np.zeros((2, 2))}, {"heads": None}, 10, "groups have the shapes"),
        (
            {"heads": np.arange(3), "layers": np.arange(4)},
            {"heads": None, "layers": None},
            10,
            "groups have the shapes",
        ),
        ({"heads": np.arange(3)}, {}, 10, "no generator for the grouping heads"),
        ({"heads": np.arange(3)}, {"heads": None}, 0, "draws is 0"),
    ],
)
def test_what_cannot_be_resampled_is_refused(groups, rngs, draws, words):
    """Each is a mistake of the caller; the message says which."""
    with pytest.raises(InvalidSample, match=words):
        bootstrap(lambda rows: 0.0, groups=groups, level=0.95, draws=draws, rngs=rngs)
