"""The judge: requirements, then criteria, then the verdict; and what is an error rather than a verdict."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from registry_builders import ATTRIBUTES, BOOTSTRAP, SUBJECT, Interval, claim, criterion

from resolvent.registry import Claim, Judgement, MetricError, PredicateError, inestimable, judge

TWO = {"large": criterion(), "small": criterion(metric="waste", support={"at_most": 0.0}, refute={"above": 1.0})}
REQUIRES = [{"metric": "heads", "at_least": 2}, {"metric": "texts", "above": 0}]
WITH_INTERVAL = {
    "sure": criterion(
        interval=BOOTSTRAP, support={"at_least": 0.2, "bound": "low"}, refute={"below": 0.2, "bound": "high"}
    )
}


def verdict(claim: Claim, **metrics: object) -> str:
    return judge(claim, SUBJECT, ATTRIBUTES, metrics).verdict


@pytest.mark.parametrize(
    ("size", "waste", "expected"),
    [
        (1.0, 0.0, "supported"),
        (0.7, 0.0, "undecided"),
        (0.7, 0.5, "undecided"),
        (0.4, 0.0, "refuted"),
        (1.0, 2.0, "refuted"),
        (0.4, 0.5, "refuted"),
    ],
)
def test_all_support_any_refute_else_undecided(size: float, waste: float, expected: str) -> None:
    """One refuted criterion refutes the claim, whatever the others say; one silent criterion leaves it undecided."""
    assert verdict(claim(TWO), size=size, waste=waste) == expected


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_every_number_has_exactly_one_verdict(size: float, waste: float) -> None:
    """Support and refute exclude each other, so a criterion never says both."""
    judgement = judge(claim(TWO), SUBJECT, ATTRIBUTES, {"size": size, "waste": waste})
    assert not any(result.holds and result.refuted for result in judgement.criteria)
    assert judgement.verdict in ("supported", "refuted", "undecided")


def test_unmet_requirement_is_inestimable_with_numbers() -> None:
    """A claim about heads that aren't there is neither supported nor refuted, and the reader sees why."""
    judgement = judge(claim(TWO, requires=REQUIRES), SUBJECT, ATTRIBUTES, {"heads": 1, "texts": 8})
    assert judgement.verdict == "inestimable"
    assert judgement.criteria == ()
    first, second = judgement.requirements
    assert (first.metric, first.value, first.predicate, first.met) == ("heads", 1.0, ">= 2", False)
    assert second.met


def test_other_metrics_may_be_absent_or_nan_when_inestimable() -> None:
    """Without heads their median is NaN; that is no error then."""
    judgement = judge(claim(TWO, requires=REQUIRES), SUBJECT, ATTRIBUTES, {"heads": 0, "texts": 8, "size": math.nan})
    assert judgement.verdict == "inestimable"
    assert judgement.metrics == {"heads": 0.0, "texts": 8.0}


@pytest.mark.parametrize("metrics", [{"heads": 1}, {"heads": 1, "texts": math.nan}])
def test_requirement_after_an_unmet_one_may_be_absent(metrics: dict[str, float]) -> None:
    """A later requirement often can't be computed once an earlier one fails: it counts as unmet."""
    judgement = judge(claim(TWO, requires=REQUIRES), SUBJECT, ATTRIBUTES, metrics)
    assert judgement.requirements[1].value is None
    assert not judgement.requirements[1].met


@pytest.mark.parametrize("metrics", [{}, {"texts": 0}, {"heads": math.nan, "texts": 0}, {"heads": 2}])
def test_absent_requirement_without_an_unmet_one_before_it_is_an_error(metrics: dict[str, float]) -> None:
    """Else a bug in a test would pass for an inestimable claim."""
    with pytest.raises(MetricError, match="required metric"):
        judge(claim(TWO, requires=REQUIRES), SUBJECT, ATTRIBUTES, metrics)


def test_nan_is_an_error_never_a_verdict() -> None:
    """Every comparison with NaN is false, so NaN would read as undecided."""
    for metrics in ({"size": math.nan, "waste": 0}, {"size": 1, "waste": 0, "extra": math.nan}):
        with pytest.raises(MetricError, match="NaN"):
            judge(claim(TWO), SUBJECT, ATTRIBUTES, metrics)


def test_missing_metric_is_an_error_that_lists_what_was_reported() -> None:
    """A misspelt metric must not leave its criterion out."""
    with pytest.raises(MetricError, match=r"'waste' of the criterion 'small' was not reported; reported: size, wast"):
        judge(claim(TWO), SUBJECT, ATTRIBUTES, {"size": 1, "wast": 0})


def test_interval_criterion_needs_an_interval() -> None:
    """A bare number can't show that the claim holds at its bound."""
    with pytest.raises(MetricError, match="has an interval"):
        verdict(claim(WITH_INTERVAL), size=0.5)
    with pytest.raises(MetricError, match="outside its interval"):
        verdict(claim(WITH_INTERVAL), size=Interval(0.9, 0.1, 0.8))
    with pytest.raises(MetricError, match="NaN"):
        verdict(claim(WITH_INTERVAL), size=Interval(0.5, math.nan, 0.8))


@pytest.mark.parametrize(
    ("low", "value", "high", "expected", "margin"),
    [(0.25, 0.5, 0.7, "supported", 0.05), (0.1, 0.5, 0.7, "undecided", -0.1), (-0.1, 0.1, 0.15, "refuted", -0.3)],
)
def test_bound_decides(low: float, value: float, high: float, expected: str, margin: float) -> None:
    """The named end of the interval is compared, and the margin is its distance to the support threshold."""
    judgement = judge(claim(WITH_INTERVAL), SUBJECT, ATTRIBUTES, {"size": Interval(value, low, high)})
    assert judgement.verdict == expected
    assert judgement.criteria[0].margin == pytest.approx(margin)
    assert judgement.metrics == {"size": value, "size.low": low, "size.high": high}


def test_resamples_left_out_are_counted_beside_the_metric() -> None:
    whole = SimpleNamespace(value=0.6, low=0.3, high=0.9, undefined=0)
    holed = SimpleNamespace(value=0.6, low=0.3, high=0.9, undefined=7)
    judged = [judge(claim(WITH_INTERVAL), SUBJECT, ATTRIBUTES, {"size": size}).metrics for size in (whole, holed)]
    assert judged[0] == {"size": 0.6, "size.low": 0.3, "size.high": 0.9}
    assert judged[1] == {**judged[0], "size.undefined": 7.0}


def test_criterion_without_interval_takes_the_value_of_one() -> None:
    """Two criteria may share a metric, one on its interval and one on its value."""
    both = {**WITH_INTERVAL, "relevant": criterion(support={"at_least": 0.5}, refute={"below": 0.02})}
    results = judge(claim(both), SUBJECT, ATTRIBUTES, {"size": Interval(0.6, 0.3, 0.9)}).criteria
    assert (results[0].low, results[1].low) == (0.3, None)


def test_when_limits_a_criterion_to_subjects() -> None:
    """A criterion that does not apply is left out: its metric may be absent, or NaN."""
    limited = {**TWO, "small": {**TWO["small"], "when": {"layers": {"at_least": 40}}}}
    assert verdict(claim(limited), size=1.0) == "supported"
    assert verdict(claim(limited), size=1.0, waste=math.nan) == "supported"
    with pytest.raises(MetricError):
        judge(claim(limited), SUBJECT, {**ATTRIBUTES, "layers": 40}, {"size": 1.0})


def test_outside_applies_to_or_without_criterion_is_not_applicable() -> None:
    """Not applicable is a statement on the claim's scope; no metric is asked for."""
    assert verdict(claim(TWO, applies_to={"norm": {"equals": "layernorm"}})) == "not_applicable"
    never = {"large": criterion(when={"layers": {"at_least": 99}})}
    assert verdict(claim(never, requires=REQUIRES)) == "not_applicable"


def test_lacking_attribute_is_an_error() -> None:
    """A subject that doesn't say its norm is not thereby another norm."""
    with pytest.raises(PredicateError, match="no attribute 'norm'"):
        judge(claim(TWO, applies_to={"norm": {"equals": "rmsnorm"}}), SUBJECT, {"layers": 3}, {})


def test_judgement_holds_plain_types_only() -> None:
    """A numpy scalar on a report ends the whole distributed session."""
    metrics = {"size": np.float64(1.5), "waste": np.int64(0), "flag": np.bool_(True), "flat": np.array(2.0), "n": 3}
    judgement = judge(claim(TWO, requires=[{"metric": "n", "above": 0}]), SUBJECT, ATTRIBUTES, metrics)

    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(type(key) is str and plain(item) for key, item in value.items())
        if isinstance(value, list):
            return all(plain(item) for item in value)
        return value is None or type(value) in (str, float, bool)

    assert plain(judgement.to_json())
    assert judgement.metrics["flag"] == 1.0
    assert judgement.metrics["flat"] == 2.0


def test_metric_that_is_no_number_is_an_error() -> None:
    """An array is a forgotten aggregation."""
    for wrong in (np.zeros(3), "0.5", None, Interval("a", 0, 1)):  # type: ignore[arg-type]
        with pytest.raises(MetricError, match="allowed: a number"):
            verdict(claim(TWO), size=wrong, waste=0)


def test_judgement_survives_json() -> None:
    """Verdicts travel from worker to controller, and into verdicts.jsonl, to the bit."""
    metrics = {"size": Interval(1 / 3, 0.1, 0.9), "heads": 2, "texts": 1}
    judgement = judge(claim(WITH_INTERVAL, requires=REQUIRES), SUBJECT, ATTRIBUTES, metrics)
    assert Judgement.from_json(json.loads(json.dumps(judgement.to_json()))) == judgement


def test_infinite_metrics_are_compared() -> None:
    """A deviation below every float has log10 -inf: a number to compare, not a failure."""
    assert verdict(claim(TWO), size=math.inf, waste=-math.inf) == "supported"


def test_evidence_that_cannot_be_made_is_inestimable() -> None:
    """Too few texts of full length: the number found and the number needed."""
    judgement = inestimable(claim(TWO), SUBJECT, "texts", 20, ">= 32")
    assert judgement.verdict == "inestimable"
    result = judgement.requirements[0]
    assert (result.metric, result.value, result.predicate) == ("texts", 20.0, ">= 32")
