from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from planted import LAYER, noise_columns, quick_rule, refuted, supported

from resolvent.statistics import InvalidSample
from resolvent.statistics.contest import (
    FAMILIES,
    RESOLVENT,
    SPECTRAL_AND_CLASSICAL,
    ContestGenerators,
    Gains,
    MissingFeature,
    TooFewHeads,
    contest,
    reported_metrics,
    winner,
)
from resolvent.statistics.contest.features import feature_table
from resolvent.statistics.contest.folds import grouped_folds
from resolvent.statistics.contest.out_of_fold import design, layer_predictions, ridge_predictions, scored_targets
from resolvent.statistics.contest.preprocessing import SCALES, rank_normal, standardised

KEYS = ContestGenerators(1, "planted", "simulated")
HEADS = len(LAYER)


def run(columns, target, *, layer=LAYER, rule=None, keys=KEYS):
    return contest(columns, target, layer, rule or quick_rule(), keys)


def numbers(result):
    """Every number of a result, in order."""
    if dataclasses.is_dataclass(result):
        return [x for field in dataclasses.fields(result) for x in numbers(getattr(result, field.name))]
    if isinstance(result, dict):
        return [x for name in result for x in numbers(result[name])]
    return np.ravel(result).tolist()


def planted(seed, *, e=0.0, p=0.0, noise=1.0):
    """A target of which one feature of E and one of P carry the given weights."""
    rng = np.random.default_rng([17, seed])
    columns = noise_columns(rng)
    target = e * columns["row_entropy"] + p * columns["departure"] + noise * rng.standard_normal(HEADS)
    return columns, target


@pytest.mark.parametrize("seed", range(3))
def test_what_only_p_carries_is_a_win(seed):
    """E cannot predict it at all, on unseen heads or unseen layers."""
    result = run(*planted(seed, p=1.5))
    assert supported(result)
    assert result.published.supported
    assert winner(reported_metrics(result)) in ("P", "E+P")


@pytest.mark.parametrize("seed", range(3))
def test_what_only_e_carries_is_refuted(seed):
    """P has nothing to say of it, and adds only noise to E."""
    result = run(*planted(seed, e=1.5))
    assert refuted(result)
    assert not supported(result)
    assert winner(reported_metrics(result)) in ("E", "E+P")


@pytest.mark.parametrize("seed", range(3))
def test_what_neither_carries_is_no_win(seed):
    """No family predicts noise."""
    result = run(*planted(seed))
    assert not supported(result)
    assert all(score.r2.value < 0.1 for setting in result.settings.values() for score in setting.families.values())


@pytest.mark.parametrize("seed", range(3))
def test_what_both_carry_redundantly_is_no_win(seed):
    """Resolvent features have to win or to add something; saying the same is neither."""
    columns, target = planted(seed, e=2.0)
    columns["departure"] = np.exp(columns["row_entropy"] / 4)
    columns["kreiss"] = columns["row_entropy"] * 2 + 1
    result = run(columns, target)
    assert not supported(result)
    assert abs(result.decisive_gain.value) < 0.05
    head = result.settings["head", "standardised"].families
    assert min(head[name].r2.value for name in FAMILIES) > 0.5


def test_p_may_add_to_e_without_beating_it():
    """The rule's second way: the union gains over E though P alone loses."""
    result = run(*planted(0, e=2.0, p=1.0, noise=0.7))
    gains = result.settings["head", "standardised"].gains
    assert gains.p_over_e.high < 0 < gains.union_over_e.low
    assert supported(result)


def test_a_win_that_hangs_on_kreiss_is_shown_without_it():
    """K_dev and its excess left out, the gain is gone; a claim that excludes them sees the same numbers the other way
    round."""
    columns, _ = planted(4)
    target = columns["kreiss"] + 0.5 * np.random.default_rng(0).standard_normal(HEADS)
    result = run(columns, target)
    assert supported(result)
    assert result.decisive_gain_without_kreiss.high < result.decisive_gain.low
    excluded = run(columns, target, rule=quick_rule(exclude_features=("kreiss",)))
    for name in ("decisive_gain", "decisive_gain_unseen_layers"):
        without = numbers(getattr(result, f"{name}_without_kreiss"))
        np.testing.assert_allclose(numbers(getattr(excluded, name)), without, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numbers(getattr(excluded, f"{name}_without_kreiss")), without, rtol=0, atol=1e-12)
        with_it = numbers(getattr(result, name))
        np.testing.assert_allclose(numbers(getattr(result, f"{name}_with_kreiss")), with_it, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numbers(getattr(excluded, f"{name}_with_kreiss")), with_it, rtol=0, atol=1e-12)


def test_survival_in_e_takes_the_win_away():
    """What plain survival says needs no resolvent."""
    columns, target = planted(5, p=1.5)
    columns |= {"log10_survival_1": columns["departure"], "log10_survival_2": target * 0.0}
    columns["log10_mass_off_bos"] = np.random.default_rng(1).standard_normal(HEADS)
    assert supported(run(columns, target))
    result = run(columns, target, rule=quick_rule(add_to_family_e=("survival_short",)))
    assert not supported(result)
    assert abs(result.decisive_gain.value) < 0.02


def test_knowing_the_layer_is_not_knowing_the_head():
    """Where P says which layer and the target is the layer's, folds by head see a win and folds by layer none."""
    rng = np.random.default_rng(6)
    columns, effect = noise_columns(rng), rng.standard_normal(12)
    for name, values in zip(RESOLVENT, np.eye(12)[:, LAYER], strict=False):
        columns[name] = values
    target = effect[LAYER] + 0.3 * rng.standard_normal(HEADS)
    result = run(columns, target)
    assert result.published.supported
    assert result.decisive_gain.low > 0
    assert result.decisive_gain_unseen_layers.low <= 0
    assert not supported(result)
    assert result.layer_baseline_r2["head"].low > 0.5
    assert result.layer_baseline_r2["layer"].value < 0.05


def test_the_decisive_gain_is_the_smaller_over_preprocessings_of_the_larger_difference():
    """Value, lower and upper end each on its own, as the claims say."""
    result = run(*planted(7, e=0.7, p=0.8))
    for grouping, found in (("head", result.decisive_gain), ("layer", result.decisive_gain_unseen_layers)):
        both = [result.settings[grouping, name].gains for name in ("standardised", "rank_normal")]
        for end in ("value", "low", "high"):
            expected = min(max(getattr(g.p_over_e, end), getattr(g.union_over_e, end)) for g in both)
            assert getattr(found, end) == expected
        for gains in both:
            assert isinstance(gains, Gains)
    for setting in result.settings.values():
        e, p = setting.families["E"].r2.value, setting.families["P"].r2.value
        assert math.isclose(setting.gains.p_over_e.value, p - e, abs_tol=1e-12)


def test_the_published_rule_asks_heads_only():
    """Narrower level, no layers, no margin: beside ours, never instead."""
    result = run(*planted(8, p=0.8))
    for name, gains in result.published.gains.items():
        ours = result.settings["head", name].gains.p_over_e
        assert gains.p_over_e.value == ours.value
        assert ours.low <= gains.p_over_e.low <= gains.p_over_e.high <= ours.high


def test_r2_is_pooled_over_repeats():
    """1 − Σ_h mean_repeats (y_h − f_h)² / Σ_h (y_h − ȳ)²."""
    columns, target = planted(9, p=1.0)
    result = run(columns, target)
    folds = grouped_folds(LAYER, "layer", quick_rule(), KEYS)
    of = design(feature_table(columns, RESOLVENT), RESOLVENT)
    found = ridge_predictions(of, target, folds, "rank_normal", quick_rule().penalty_grid(), {"P": RESOLVENT})["P"]
    expected = 1 - ((target - found.prediction) ** 2).mean(axis=0).sum() / ((target - target.mean()) ** 2).sum()
    score = result.settings["layer", "rank_normal"].families["P"]
    assert math.isclose(score.r2.value, expected, rel_tol=1e-9)
    np.testing.assert_allclose(score.prediction, found.prediction.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("preprocessing", ["standardised", "rank_normal"])
@pytest.mark.parametrize("grouping", ["head", "layer"])
def test_a_prediction_does_not_depend_on_targets_of_its_own_fold(grouping, preprocessing):
    """The prediction of a head may know neither its own target nor, by layer, any target of its layer."""
    columns, target = planted(10, p=1.0)
    columns["k_sup"][[3, 50]] = np.inf
    labels = LAYER if grouping == "layer" else np.arange(HEADS)
    folds = grouped_folds(labels, grouping, quick_rule(repeats=1), KEYS)
    names = SPECTRAL_AND_CLASSICAL + RESOLVENT
    of = design(feature_table(columns, names), names)

    def predictions(y):
        grid = quick_rule().penalty_grid()
        return ridge_predictions(of, y, folds, preprocessing, grid, {"all": names})["all"].prediction[0]

    before = predictions(target)
    for fold in range(5):
        tested = folds.outer[0] == fold
        moved = np.where(tested, 50 + 10 * target, target)
        after = predictions(moved)
        np.testing.assert_array_equal(after[tested], before[tested])
        assert not np.allclose(after[~tested], before[~tested])


@pytest.mark.parametrize("scale", [standardised, rank_normal])
def test_preprocessing_fitted_outside_the_fold_changes_the_result(scale, monkeypatch):
    """A planted case in which it matters: one head in seven is far out in the feature that carries the target, and a
    scale that has seen those of the test part gives the training part another one."""
    rng = np.random.default_rng(11)
    columns, target = planted(11, p=1.0)
    columns["departure"] = columns["departure"] * np.where(rng.random(HEADS) < 1 / 7, 20.0, 1.0)
    folds = grouped_folds(np.arange(HEADS), "head", quick_rule(), KEYS)
    table = feature_table(columns, RESOLVENT)

    def r2():
        found = ridge_predictions(
            design(table, RESOLVENT), target, folds, scale.__name__, quick_rule().penalty_grid(), {"P": RESOLVENT}
        )["P"]
        return 1 - ((target - found.prediction) ** 2).mean(axis=0).sum() / ((target - target.mean()) ** 2).sum()

    inside = r2()
    monkeypatch.setitem(SCALES, scale.__name__, lambda values, train: scale(values, np.ones_like(train)))
    assert abs(r2() - inside) > 1e-4  # rounding is below 1e-12


def test_the_same_keys_give_the_same_numbers():
    """Whatever else ran before, in this worker or another."""
    columns, target = planted(12, p=0.7)
    np.random.default_rng().random(100)
    first = numbers(run(columns, target))
    run(*planted(13))
    backwards = dict(reversed(columns.items()))
    assert numbers(run(backwards, target)) == first
    assert numbers(run(columns, target, keys=ContestGenerators(2, "planted", "simulated"))) != first


def test_constant_features_change_nothing():
    """k_sup = 1 throughout, or K at its floor, carry no information and must not break a fold."""
    columns, target = planted(14, p=1.0)
    for name in ("k_sup", "dobrushin"):
        columns[name] = np.full(HEADS, 1.0)
    ones = run(columns, target)
    for name in ("k_sup", "dobrushin"):
        columns[name] = np.full(HEADS, 0.1)
    np.testing.assert_allclose(numbers(run(columns, target)), numbers(ones), rtol=1e-9, atol=1e-12)
    assert np.isfinite(numbers(ones)).all()
    for setting in ones.settings.values():
        assert setting.families["P"].importance["k_sup"] == 0


def test_what_an_infinite_value_says_is_not_lost():
    """Defective heads share their finite stand-in with the largest finite head; the indicator tells them apart."""
    rng = np.random.default_rng(15)
    columns, _ = planted(15)
    defective = rng.random(HEADS) < 0.3
    columns["log10_condition"] = np.where(defective, np.inf, columns["log10_condition"])
    columns["row_entropy"][4] = -np.inf
    target = 2.0 * defective + 0.5 * rng.standard_normal(HEADS)
    result = run(columns, target)
    assert supported(result)
    assert np.isfinite(numbers(result)).all()
    importance = result.settings["head", "standardised"].families["P"].importance
    assert max(importance, key=importance.get) == "log10_condition"


def test_a_target_of_minus_infinity_is_the_smallest_finite_one_of_the_training_part():
    """Persistence of a head whose deviation is exactly gone; which value that is must not come from tested heads."""
    columns, target = planted(16, p=1.5)
    lowest = np.argsort(target)[:3]
    target[lowest[0]] = -np.inf
    folds = grouped_folds(np.arange(HEADS), "head", quick_rule(), KEYS)
    seen = scored_targets(target, folds)
    assert np.isfinite(seen).all()
    for repeat in range(2):
        together = folds.outer[repeat, lowest[0]] == folds.outer[repeat, lowest[1]]
        finite = np.sort(target[np.isfinite(target)])
        if not together:
            assert seen[repeat, lowest[0]] == finite[0]
        else:
            assert seen[repeat, lowest[0]] >= finite[1]
    result = run(columns, target)
    assert supported(result)
    assert np.isfinite(numbers(result)).all()
    assert result.target_distinct_values == HEADS


def test_importance_is_the_mean_over_permutations():
    """The closed form against drawn permutations of one fold's predictions."""
    columns, target = planted(17, p=1.0)
    columns["k_sup"] = np.where(np.random.default_rng(0).random(HEADS) < 0.2, np.inf, columns["k_sup"])
    target = target + 2.0 * np.isinf(columns["k_sup"])
    folds = grouped_folds(np.arange(HEADS), "head", quick_rule(repeats=1), KEYS)
    table = feature_table(columns, RESOLVENT)
    grid = np.array([1.0])

    def found(values):
        return ridge_predictions(design(values, RESOLVENT), target, folds, "standardised", grid, {"P": RESOLVENT})["P"]

    rng, of = np.random.default_rng(1), found(table)
    column, rises = RESOLVENT.index("k_sup"), []
    base = ((target - of.prediction[0]) ** 2).sum()
    for _ in range(150):
        total = 0.0
        for fold in range(5):
            tested = folds.outer[0] == fold
            moved = table.copy()
            moved[tested, column] = rng.permutation(table[tested, column])
            total += ((target - found(moved).prediction[0])[tested] ** 2).sum()
        rises.append(total - base)
    error = np.std(rises) / np.sqrt(len(rises))
    assert abs(np.mean(rises) - of.importance["k_sup"]) < 4 * error
    assert of.importance["k_sup"] > 10 * error


def test_the_layer_baseline_is_the_mean_of_the_layer_in_the_training_part():
    """Of a layer that was not trained on, the mean of all that were."""
    target = np.random.default_rng(18).standard_normal(HEADS)
    folds = grouped_folds(np.arange(HEADS), "head", quick_rule(repeats=1), KEYS)
    found = layer_predictions(target, LAYER, folds)[0]
    for head in (0, 41, 95):
        same = (folds.outer[0] != folds.outer[0, head]) & (LAYER[head] == LAYER)
        assert math.isclose(found[head], target[same].mean())
    folds = grouped_folds(LAYER, "layer", quick_rule(repeats=1), KEYS)
    found = layer_predictions(target, LAYER, folds)[0]
    for head in (0, 41, 95):
        assert math.isclose(found[head], target[folds.outer[0] != folds.outer[0, head]].mean())


def test_the_bos_mass_alone_is_reported():
    """Where it says all there is to say, its R² stands beside that of E."""
    columns, _ = planted(19)
    target = columns["bos_mass"] + 0.2 * np.random.default_rng(3).standard_normal(HEADS)
    setting = run(columns, target).settings["head", "standardised"]
    assert setting.bos_mass_r2.value > 0.9
    assert setting.bos_mass_r2.value >= setting.families["E"].r2.value - 0.01


def test_the_top_heads_are_found_by_the_family_that_knows_them():
    """Retrieval asks for the few largest, which R² over all heads may hide."""
    families = run(*planted(20, p=3.0)).settings["head", "standardised"].families
    assert families["P"].top5_auroc > 0.95
    assert families["E"].top5_auroc < 0.9


def test_too_few_heads_or_layers_is_an_error_with_the_numbers():
    """The caller turns it into inestimable."""
    columns, target = planted(21)
    six = {name: values[:6] for name, values in columns.items()}
    with pytest.raises(TooFewHeads, match="found 6 heads, needed are 7"):
        run(six, target[:6], layer=LAYER[:6])
    with pytest.raises(TooFewHeads, match="contest by layer: found 2 layers, needed are 7"):
        run(columns, target, layer=LAYER // 6)


def test_what_is_no_number_is_refused_with_its_place():
    """A NaN would spread through every fold that trains on it."""
    columns, target = planted(22)
    with pytest.raises(InvalidSample, match="feature kreiss of head 5 is NaN"):
        run(columns | {"kreiss": np.where(np.arange(HEADS) == 5, np.nan, columns["kreiss"])}, target)
    with pytest.raises(InvalidSample, match="target of head 2 is inf"):
        run(columns, np.where(np.arange(HEADS) == 2, np.inf, target))
    with pytest.raises(InvalidSample, match=r"target has the shape \(95,\)"):
        run(columns, target[1:])
    with pytest.raises(MissingFeature, match="weight_departure"):
        run({name: values for name, values in columns.items() if name != "weight_departure"}, target)
