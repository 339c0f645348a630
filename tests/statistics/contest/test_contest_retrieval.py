from __future__ import annotations

import math

import numpy as np
from sklearn.metrics import roc_auc_score

from resolvent.statistics.contest.retrieval import top_retrieval_auroc


def test_it_is_the_area_under_the_roc_curve():
    """Ties in the prediction count one half, as the trapezoid has it."""
    rng = np.random.default_rng(0)
    prediction, target = np.round(rng.standard_normal(50), 1), rng.standard_normal(50)
    among = target >= np.sort(target)[-5]
    assert among.sum() == 5
    assert math.isclose(top_retrieval_auroc(prediction, target), roc_auc_score(among, prediction))


def test_a_perfect_order_is_1_its_reverse_0_and_a_constant_one_half():
    """The ends of the scale, which say below .5 is worse than guessing."""
    target = np.arange(20.0)
    assert [top_retrieval_auroc(p, target) for p in (target, -target, 0 * target)] == [1.0, 0.0, 0.5]


def test_heads_tied_with_the_fifth_are_all_sought():
    """Which of equal heads came first must not matter."""
    target = np.array([9.0, 8, 7, 6, 5, 5, 5, 1, 1, 1])
    prediction = np.arange(10.0)
    order = np.random.default_rng(1).permutation(10)
    assert top_retrieval_auroc(prediction, target) == top_retrieval_auroc(prediction[order], target[order]) == 0.0


def test_without_others_there_is_nothing_to_find():
    """Five heads, or all heads alike: undefined."""
    assert math.isnan(top_retrieval_auroc(np.arange(5.0), np.arange(5.0)))
    assert math.isnan(top_retrieval_auroc(np.arange(9.0), np.ones(9)))
