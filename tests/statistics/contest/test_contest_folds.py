from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from planted import LAYER, quick_rule

from resolvent.keyed_random import generator
from resolvent.statistics.contest import ContestGenerators, LeakingFold, TooFewHeads, labels_needed
from resolvent.statistics.contest.folds import LEFT_OUT, Folds, check_folds, grouped_folds

KEYS = ContestGenerators(5, "claim", "subject")
LABELS = {"head": np.arange(len(LAYER)), "layer": LAYER}


def folds_of(grouping, **changes):
    return grouped_folds(LABELS[grouping], grouping, quick_rule(**changes), KEYS)


@pytest.mark.parametrize("grouping", LABELS)
def test_no_group_is_on_both_sides_of_any_split(grouping):
    """A model that has seen a layer can recognise it, and then knows what its heads are like."""
    folds, labels = folds_of(grouping), LABELS[grouping]
    check_folds(folds, labels)
    for repeat in range(2):
        outer, inner = folds.outer_test(repeat), folds.inner_test(repeat)
        for test, tests in zip(outer, inner, strict=True):
            assert not set(labels[test]) & set(labels[~test])
            for inner_test in tests:
                inner_train = ~test & ~inner_test
                assert not set(labels[inner_test]) & set(labels[inner_train])
                assert not (inner_test & test).any()
        np.testing.assert_array_equal(outer.sum(axis=0), 1)
        np.testing.assert_array_equal(inner.sum(axis=1), ~outer)


def test_a_fold_that_sees_its_own_head_is_caught():
    """Heads in test of the outer fold must be in none of its inner folds."""
    folds = folds_of("head")
    inner = folds.inner.copy()
    inner[1, 2, np.flatnonzero(folds.outer[1] == 2)[0]] = 0
    with pytest.raises(LeakingFold, match="repeat 1, inner folds of outer fold 2: head"):
        check_folds(Folds(folds.outer, inner), LABELS["head"])


def test_a_fold_that_sees_its_own_layer_is_caught():
    """Folds by head are not folds by layer, outer or inner."""
    with pytest.raises(LeakingFold, match="repeat 0, outer folds: group 0 is in more than one fold"):
        check_folds(folds_of("head"), LAYER)
    folds = folds_of("layer")
    inner = folds.inner.copy()
    head = np.flatnonzero(inner[0, 0] != LEFT_OUT)[0]
    inner[0, 0, head] = (inner[0, 0, head] + 1) % 5
    with pytest.raises(LeakingFold, match="inner folds of outer fold 0: group"):
        check_folds(Folds(folds.outer, inner), LAYER)


def test_a_head_that_no_fold_tests_is_caught():
    """It would be scored by a prediction that nobody made."""
    folds = folds_of("head")
    outer = folds.outer.copy()
    outer[0, outer[0] == 4] = 3
    with pytest.raises(LeakingFold, match="needed are 0 to 4"):
        check_folds(dataclasses.replace(folds, outer=outer), LABELS["head"])


def test_fold_sizes_differ_by_one_group_at_most():
    """Uneven folds would weigh training parts of different sizes together."""
    for grouping in LABELS:
        for fold_of in folds_of(grouping).outer:
            sizes = [len(np.unique(LABELS[grouping][fold_of == fold])) for fold in range(5)]
            assert max(sizes) - min(sizes) <= 1


def test_each_split_has_the_key_that_the_study_froze():
    """Anyone can redraw one split without the others."""
    folds = folds_of("layer")
    order = generator(5, "folds", "claim", "subject", "layer", 1, "outer").permutation(12)
    for position, label in enumerate(order):
        np.testing.assert_array_equal(folds.outer[1, label == LAYER], position % 5)
    left = np.setdiff1d(LAYER, LAYER[folds.outer[1] == 3])
    order = generator(5, "folds", "claim", "subject", "layer", 1, 3).permutation(len(left))
    for position, index in enumerate(order):
        np.testing.assert_array_equal(folds.inner[1, 3, left[index] == LAYER], position % 5)


def test_repeats_are_the_same_however_many_are_drawn():
    """Keys do not depend on the order of computation."""
    np.testing.assert_array_equal(folds_of("head").inner, folds_of("head", repeats=3).inner[:2])


@pytest.mark.parametrize("heads", [1, 4, 6])
def test_fewer_heads_than_the_folds_need_is_an_error_with_the_numbers(heads):
    """The caller says inestimable, and by which number."""
    with pytest.raises(TooFewHeads, match=f"found {heads} heads, needed are 7") as error:
        grouped_folds(np.arange(heads), "head", quick_rule(), KEYS)
    assert (error.value.grouping, error.value.found, error.value.needed) == ("head", heads, 7)


def test_with_just_enough_groups_no_fold_is_empty():
    """Seven groups leave five to each training part, six leave four to some."""
    assert labels_needed(5, 5) == 7
    assert labels_needed(3, 2) == 3
    for outer in range(2, 7):
        for inner in range(2, 7):
            labels = np.arange(labels_needed(outer, inner))
            check_folds(grouped_folds(labels, "head", quick_rule(outer_folds=outer, inner_folds=inner), KEYS), labels)
