from __future__ import annotations

import numpy as np
import pytest
from planted import LAYER, noise_columns, quick_rule
from scikit_reference import searched_predictions
from sklearn.linear_model import Ridge

from resolvent.statistics.contest import RESOLVENT, ContestGenerators
from resolvent.statistics.contest.features import feature_table
from resolvent.statistics.contest.folds import grouped_folds
from resolvent.statistics.contest.out_of_fold import design, ridge_predictions
from resolvent.statistics.contest.ridge import chosen_penalties, coefficients, moments


def sample(seed, heads=40, features=6):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((heads, features)) * 10.0 ** rng.uniform(-1, 1, features)
    return x, x @ rng.standard_normal(features) + rng.standard_normal(heads), rng.random((3, heads)) < 0.7


def test_every_penalty_and_split_is_scikit_learns_ridge():
    """The closed form is the same model, not another one that is faster."""
    x, y, train = sample(1)
    penalties = quick_rule().penalty_grid()
    columns = np.array([0, 2, 3, 5])
    of = moments(np.broadcast_to(x, (3, *x.shape)), np.broadcast_to(y, (3, len(y))), train)
    weights = coefficients(of, columns, penalties)
    for split in range(3):
        for p in (0, 9, 24):
            known = train[split]
            model = Ridge(alpha=penalties[p], solver="svd").fit(x[known][:, columns], y[known])
            mine = of.mean[split] + of.centred[split][:, columns] @ weights[split, :, p]
            np.testing.assert_allclose(weights[split, :, p], model.coef_, rtol=1e-8, atol=1e-12)
            np.testing.assert_allclose(mine, model.predict(x[:, columns]), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("preprocessing", ["standardised", "rank_normal"])
@pytest.mark.parametrize("grouping", ["head", "layer"])
def test_predictions_are_those_of_a_pipeline_in_a_grid_search(grouping, preprocessing):
    """Preprocessing and penalty are fitted inside each inner fold as scikit-learn's nested search does it; ties,
    a constant feature and one that is constant in some training parts only included."""
    rng = np.random.default_rng(3)
    columns = noise_columns(rng)
    columns["k_sup"] = np.floor(3 * rng.random(len(LAYER)))
    columns["departure"] = np.full(len(LAYER), 1 / 3)
    columns["kreiss"] = np.where(np.arange(len(LAYER)) == 7, 2.0, 1.0)
    target = columns["log10_condition"] + columns["k_sup"] + rng.standard_normal(len(LAYER))
    rule = quick_rule(repeats=1)
    labels = LAYER if grouping == "layer" else np.arange(len(LAYER))
    folds = grouped_folds(labels, grouping, rule, ContestGenerators(0, "c", "s"))
    table = feature_table(columns, RESOLVENT)
    penalties = rule.penalty_grid()
    mine = ridge_predictions(design(table, RESOLVENT), target, folds, preprocessing, penalties, {"P": RESOLVENT})
    np.testing.assert_allclose(
        mine["P"].prediction, searched_predictions(table, target, folds, preprocessing, penalties), rtol=0, atol=1e-8
    )


def test_the_penalty_is_that_of_the_least_mean_error_and_the_smallest_of_equals():
    """Inner folds count alike, whatever their sizes, and a tie falls as in an ascending grid search."""
    error = np.array([[[3.0, 1.0, 2.0], [3.0, 2.0, 1.0]], [[1.0, 5.0, 4.0], [1.0, 0.0, 0.0]]])
    np.testing.assert_array_equal(chosen_penalties(error), [1, 0])


def test_constant_features_get_no_weight():
    """Without spread in the training part there is nothing to fit, and 0/0 must not decide a prediction."""
    x, y, train = sample(2)
    x[:, 1] = 4.0
    of = moments(np.broadcast_to(x, (3, *x.shape)), np.broadcast_to(y, (3, len(y))), train)
    weights = coefficients(of, np.arange(6), np.array([1e-2]))
    np.testing.assert_allclose(weights[:, 1], 0.0, atol=1e-12)
