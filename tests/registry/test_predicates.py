"""Predicates: what holds, by how much, and the proof that two exclude each other."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.registry.predicates import Condition, Predicate, PredicateError, all_hold, can_both_hold

SIZES = [-math.inf, *(half / 2 for half in range(-2, 9)), math.inf]
"""Every predicate with thresholds 0..3 that some number satisfies is satisfied by one of these."""

thresholds = st.integers(0, 3).map(float)
comparisons = st.fixed_dictionaries(
    {},
    optional={
        "above": thresholds,
        "at_least": thresholds,
        "below": thresholds,
        "at_most": thresholds,
        "equals": thresholds,
        "between": st.tuples(thresholds, thresholds).map(lambda ends: tuple(sorted(ends))),
        "bound": st.sampled_from(["low", "high"]),
    },
)
predicates = comparisons.filter(lambda found: set(found) - {"bound"}).map(lambda found: Predicate(**found))
triples = st.tuples(*[st.sampled_from(SIZES)] * 3).map(sorted)


def written_out(predicate: Predicate, number: float) -> bool:
    """Each comparison on its own."""
    tests = {
        "above": lambda t: number > t,
        "at_least": lambda t: number >= t,
        "below": lambda t: number < t,
        "at_most": lambda t: number <= t,
        "equals": lambda t: number == t,
        "between": lambda t: t[0] <= number <= t[1],
    }
    return all(test(getattr(predicate, name)) for name, test in tests.items() if getattr(predicate, name) is not None)


@settings(max_examples=300, deadline=None)
@given(predicates, predicates)
def test_exclusion_proof_equals_brute_force(one: Predicate, other: Predicate) -> None:
    """A claim that could be supported and refuted at once decides nothing, and no sound claim may be refused."""
    possible = any(
        one.holds(value, low, high) and other.holds(value, low, high)
        for low, value, high in itertools.combinations_with_replacement(SIZES, 3)
    )
    assert can_both_hold(one, other) == possible


@settings(max_examples=300, deadline=None)
@given(predicates, triples)
def test_several_comparisons_must_all_hold(predicate: Predicate, triple: list[float]) -> None:
    """A predicate with two comparisons is their conjunction, on the number that its bound names."""
    low, value, high = triple
    number = {"low": low, "high": high, None: value}[predicate.bound]
    assert predicate.holds(value, low, high) == written_out(predicate, number)


@settings(max_examples=300, deadline=None)
@given(predicates, triples)
def test_margin_has_the_sign_of_holding(predicate: Predicate, triple: list[float]) -> None:
    """A positive margin must mean that support holds, a negative one that it doesn't."""
    low, value, high = triple
    margin = predicate.margin(value, low, high)
    if margin > 0:
        assert predicate.holds(value, low, high)
    if margin < 0:
        assert not predicate.holds(value, low, high)


@pytest.mark.parametrize(
    ("predicate", "value", "margin"),
    [
        (Predicate(at_least=0.55), 0.6, 0.05),
        (Predicate(above=1.0), 0.25, -0.75),
        (Predicate(at_most=2.0), 1.5, 0.5),
        (Predicate(below=2.0), 2.5, -0.5),
        (Predicate(between=(1.0, 4.0)), 1.5, 0.5),
        (Predicate(between=(1.0, 4.0)), 4.5, -0.5),
        (Predicate(equals=0.0), 3.0, -3.0),
        (Predicate(equals=0.0), 0.0, 0.0),
    ],
)
def test_margin_is_the_distance_to_the_threshold(predicate: Predicate, value: float, margin: float) -> None:
    """The margin is in the metric's own units."""
    assert predicate.margin(value) == pytest.approx(margin, abs=1e-12)


def test_bound_chooses_the_compared_number() -> None:
    """An interval claim is decided by the end its predicate names, not by the value."""
    assert Predicate(at_least=0.2, bound="low").holds(0.5, 0.25, 0.7)
    assert not Predicate(at_least=0.2, bound="low").holds(0.5, 0.1, 0.7)
    assert Predicate(below=0.2, bound="high").margin(0.1, 0.0, 0.15) == pytest.approx(0.05)
    with pytest.raises(PredicateError, match="needs an interval"):
        Predicate(at_least=0.2, bound="low").holds(0.5)


def test_predicates_read_as_comparisons() -> None:
    """Reports show the frozen predicate, not a dict."""
    assert str(Predicate(at_least=0.6, bound="low")) == "low >= 0.6"
    assert str(Predicate(between=(0.75, 1.33))) == "in [0.75, 1.33]"
    assert str(Predicate(above=0.0, at_most=1e-9)) == "> 0 and <= 1e-09"
    assert str(Condition(equals=True)) == "= true"


def test_conditions_take_words_and_truths() -> None:
    """applies_to speaks of norms and training, not only of numbers."""
    attributes = {"norm": "rmsnorm", "trained": True, "layers": 30}
    conditions = {"norm": Condition(equals="rmsnorm"), "trained": Condition(equals=True), "layers": Condition(above=6)}
    assert all_hold(conditions, attributes, where="x")
    assert not all_hold(conditions, {**attributes, "norm": "layernorm"}, where="x")
    assert not all_hold(conditions, {**attributes, "layers": 6}, where="x")


def test_lacking_attribute_is_an_error() -> None:
    """A missing attribute taken for false would silently drop the subject."""
    with pytest.raises(PredicateError, match="census: applies_to: the subject has no attribute 'layers'; it has norm"):
        all_hold({"layers": Condition(above=6)}, {"norm": "rmsnorm"}, where="census: applies_to")


def test_truth_is_not_the_number_one() -> None:
    """Python's True == 1 must not let `trained: 1` pass for true."""
    with pytest.raises(PredicateError, match="can't be compared"):
        Condition(equals=True).holds("trained", 1)


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6).map(float)
any_predicate = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("above", "at_least", "below", "at_most", "equals"), numbers),
        "between": st.tuples(numbers, numbers),
        "bound": st.sampled_from(["low", "high"]),
    },
).filter(lambda found: set(found) - {"bound"})


@settings(max_examples=300, deadline=None)
@given(any_predicate.map(lambda found: Predicate(**found)))
def test_a_predicate_reads_back_from_its_words(predicate: Predicate) -> None:
    """Verdicts keep predicates in words: reports and comparisons read the thresholds from there, to the bit."""
    assert Predicate.from_text(str(predicate)) == predicate


@pytest.mark.parametrize("text", ["", "large", ">= x1", "middle > 3", ">= 1 or < 0", "in [1 2]"])
def test_other_words_are_no_predicate(text: str) -> None:
    """An edited verdict file must not be half read."""
    with pytest.raises((PredicateError, ValueError)):
        Predicate.from_text(text)
