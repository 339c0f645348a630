"""The claims of training time on planted runs: the planted verdict, from the frozen protocols and predicates."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from resolvent.evidence.views import VIEWS
from resolvent.evidence.views.trajectory import (
    ConcentrationTrajectory,
    ScoreTrajectory,
    Trajectory,
    WeightTrajectory,
)
from resolvent.operators import kreiss_from_bos_mass
from resolvent.registry import Claim, check_protocol, judge, load_claim
from resolvent.registry.judge import Judgement
from resolvent.statistics import Interval, clopper_pearson

ROOT = Path(__file__).resolve().parents[2]
ATTRIBUTES = {
    "trained": True,
    "norm": "layernorm",
    "positions": "rope_partial",
    "layers": 6,
    "heads": 8,
    "checkpoints": 13,
}


def module(path: Path) -> ModuleType:
    """A file of claims/ or of other tests by its place: neither is a package."""
    spec = importlib.util.spec_from_file_location(f"planted_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


CLAIMS = module(ROOT / "claims" / "test_training.py")
PLANTED = module(ROOT / "tests" / "evidence" / "views" / "planted_trajectory.py")
COUNT, sigmoid = PLANTED.COUNT, PLANTED.sigmoid

FIXTURES: dict[str, tuple[Any, ...]] = {
    "consolidation": (Trajectory, ScoreTrajectory),
    "consolidation_timing": (Trajectory, ScoreTrajectory, WeightTrajectory),
    "pattern_precedes_function": (Trajectory,),
    "pattern_leads_function": (Trajectory,),
    "no_damping_without_concentration": (Trajectory, ConcentrationTrajectory),
}


class PlantedClaim:
    """Stands in for the plugin's `claim`: the frozen file, and the judge of the registry."""

    def __init__(self, name: str) -> None:
        self._claim: Claim = load_claim(ROOT / "prereg" / f"{name}.yaml")
        self.protocol = dict(self._claim.protocol)
        self.judgement: Judgement | None = None

    def proportion(self, metric: str, successes: int, trials: int) -> Interval:
        rule = self._claim.interval_rule(metric)
        assert rule is not None
        assert rule.method == "clopper_pearson"
        return clopper_pearson(successes, trials, rule.level)

    def judge(self, **metrics: Any) -> None:
        self.judgement = judge(self._claim, "planted", ATTRIBUTES, metrics)


def verdict(name: str, columns: dict[str, Any]) -> Judgement:
    """The claim's own test on a planted run."""
    claim = PlantedClaim(name)
    load = PLANTED.loader(columns)
    views = [view(PLANTED.SUBJECT, None, claim.protocol, load) for view in FIXTURES[name]]
    getattr(CLAIMS, f"test_{name}")(claim, *views)
    assert claim.judgement is not None
    return claim.judgement


def of_head(first: int, inside: float, outside: float) -> Any:
    """One value for the heads below `first`, another for the rest, at every checkpoint."""
    return lambda at, head: np.where(head < first, inside, outside)


@pytest.mark.parametrize("name", list(FIXTURES))
def test_every_protocol_is_understood(name: str) -> None:
    """A key that no view knows would be an unknown key in the run."""
    check_protocol(
        load_claim(ROOT / "prereg" / f"{name}.yaml"), frozenset().union(*(v.protocol_keys for v in FIXTURES[name]))
    )
    places = {place.partition(":")[2] for place in VIEWS.values()}
    assert {view.__name__ for view in FIXTURES[name]} <= places


# Heads 0 to 2 are previous-token heads, 3 to 5 induction heads.
def consolidating(*, scores_at: float = 5, damping_at: float = 8, d_head_at: float = 8, depth: float = -1.5) -> Any:
    def bits(at: int, head: np.ndarray) -> np.ndarray:
        final = np.select([head < 3, head < 6], [0.3, depth - 1], depth)
        return 2.0 + sigmoid(damping_at)(at, head) * final

    return {
        "previous_token_mass": lambda at, head: np.where(head < 3, sigmoid(scores_at, high=0.8)(at, head), 0.05),
        "induction_score": lambda at, head: np.where(
            (head >= 3) & (head < 6), sigmoid(scores_at, high=0.7)(at, head), 0.05
        ),
        "kreiss": lambda at, head: 2.0 ** bits(at, head),
        "null_kreiss": lambda at, head: np.full(len(head), 4.0),
        "d_head": lambda at, head: sigmoid(d_head_at, high=-0.5)(at, head),
    }


def test_consolidation_is_supported_where_it_was_planted() -> None:
    """Deep damping, induction heads deepest, previous-token heads above the null."""
    found = verdict("consolidation", consolidating())
    assert found.verdict == "supported"
    assert found.metrics["final_median_excess_bits"] == pytest.approx(-1.5, abs=1e-3)
    assert found.metrics["induction_minus_rest_bits"] == pytest.approx(-1, abs=1e-3)
    assert found.metrics["previous_token_excess_bits"] == pytest.approx(0.3, abs=1e-3)
    assert (found.metrics["previous_token_heads"], found.metrics["induction_heads"]) == (3, 3)


def test_consolidation_is_refuted_without_damping() -> None:
    """A population that stays at its null has not consolidated."""
    assert verdict("consolidation", consolidating(depth=-0.05)).verdict == "refuted"


def test_consolidation_needs_its_classes() -> None:
    """No induction head: nothing is said about them."""
    columns = {**consolidating(), "induction_score": of_head(COUNT, 0.1, 0.1)}
    found = verdict("consolidation", columns)
    assert found.verdict == "inestimable"
    assert found.metrics["induction_heads"] == 0


@pytest.mark.parametrize(
    ("damping_at", "d_head_at", "expected"),
    [
        (8, 8, "supported"),
        (8, 9, "undecided"),  # one checkpoint apart
        (8, 10, "refuted"),  # two apart
        (5, 5, "undecided"),  # together with the scores
        (3, 3, "refuted"),  # before them
    ],
)
def test_timing_says_what_was_planted(damping_at: float, d_head_at: float, expected: str) -> None:
    """Damping behind the scores and with the weights, or not."""
    found = verdict("consolidation_timing", consolidating(damping_at=damping_at, d_head_at=d_head_at))
    assert found.verdict == expected
    assert found.metrics["formation_lag_checkpoints"] == damping_at - 5
    assert found.metrics["crossing_difference_checkpoints"] == abs(damping_at - d_head_at)
    assert found.metrics["step_of_formation"] == PLANTED.STEPS[5]


def test_the_later_of_the_two_scores_counts() -> None:
    """Circuits have formed when both kinds of heads have."""
    columns = consolidating()
    columns["induction_score"] = lambda at, head: np.where(head == 4, sigmoid(7, high=0.7)(at, head), 0.05)
    found = verdict("consolidation_timing", columns)
    assert found.metrics["formation_lag_checkpoints"] == 1


def test_timing_without_damping_or_rotation_is_inestimable() -> None:
    """Half of nothing has no checkpoint."""
    assert verdict("consolidation_timing", consolidating(depth=-0.1)).verdict == "inestimable"
    columns = {**consolidating(), "d_head": of_head(COUNT, -0.3, -0.3)}
    found = verdict("consolidation_timing", columns)
    assert found.verdict == "inestimable"
    assert found.metrics["final_median_d_head_change_bits"] == 0


def sinks(*, mass_at: Any, damping_at: Any, number: int = 30) -> Any:
    """The first `number` heads become sinks at one checkpoint and are damped by two bits at another."""
    return {
        "bos_mass": lambda at, head: np.where(head < number, sigmoid(mass_at, low=0.1, high=0.9)(at, head), 0.1),
        "kreiss": lambda at, head: 2.0 ** np.where(head < number, sigmoid(damping_at, low=3, high=1)(at, head), 3.0),
    }


@pytest.mark.parametrize(
    ("mass_at", "damping_at", "expected"), [(6, 8, "supported"), (7, 7, "supported"), (8, 6, "refuted")]
)
def test_precedence_is_lead_or_tie_but_no_lag(mass_at: float, damping_at: float, expected: str) -> None:
    """The published claim counts ties for the pattern."""
    found = verdict("pattern_precedes_function", sinks(mass_at=mass_at, damping_at=damping_at))
    assert found.verdict == expected
    assert found.metrics["damped_sink_heads"] == 30
    assert found.metrics["tied_heads"] == (30 if mass_at == damping_at else 0)
    assert found.metrics["leading_heads"] == (30 if mass_at < damping_at else 0)


def test_precedence_is_undecided_near_its_bar() -> None:
    """26 of 30: below 90 %, and the interval reaches above it."""
    mass_at = np.where(np.arange(COUNT) < 4, 8.0, 6.0)
    found = verdict("pattern_precedes_function", sinks(mass_at=mass_at, damping_at=7))
    assert found.verdict == "undecided"
    assert found.metrics["pattern_first_fraction"] == pytest.approx(26 / 30)


def test_heads_that_are_no_sinks_or_not_damped_do_not_count() -> None:
    """Nine heads are too few, with their number said."""
    found = verdict("pattern_precedes_function", sinks(mass_at=6, damping_at=8, number=9))
    assert found.verdict == "inestimable"
    assert found.metrics["damped_sink_heads"] == 9
    calm = {**sinks(mass_at=6, damping_at=8), "kreiss": of_head(COUNT, 8.0, 8.0)}
    assert verdict("pattern_precedes_function", calm).metrics["damped_sink_heads"] == 0


def law(number: int, *, shift: float) -> Any:
    """Heads whose K is the law of the BOS mass that they have `shift` checkpoints earlier (a lead) or later (a lag)."""

    def mass(at: float) -> float:
        return float(0.05 + 0.85 / (1 + np.exp((6.3 - at) / 0.8)))

    def kreiss(at: int, head: np.ndarray) -> np.ndarray:
        return np.where(head < number, kreiss_from_bos_mass(mass(at - shift), 128), kreiss_from_bos_mass(0.05, 128))

    return {"bos_mass": lambda at, head: np.where(head < number, mass(at), 0.05), "kreiss": kreiss}


@pytest.mark.parametrize(("shift", "expected"), [(1.0, "supported"), (-1.0, "refuted"), (0.0, "inestimable")])
def test_leads_lags_and_ties_are_told_apart_on_one_scale(shift: float, expected: str) -> None:
    """Where K follows the law of its own mass all onsets tie, and the claim is inestimable, which is the answer."""
    found = verdict("pattern_leads_function", law(30, shift=shift))
    assert found.verdict == expected
    assert found.metrics["damped_sink_heads"] == 30
    assert found.metrics["untied_heads"] == (0 if shift == 0 else 30)


def test_a_lead_of_half_the_heads_decides_nothing() -> None:
    """Fifteen lead and fifteen lag."""
    early, late = law(30, shift=1.0), law(30, shift=-1.0)
    columns = {
        "bos_mass": early["bos_mass"],
        "kreiss": lambda at, head: np.where(head % 2 == 0, early["kreiss"](at, head), late["kreiss"](at, head)),
    }
    found = verdict("pattern_leads_function", columns)
    assert found.verdict == "undecided"
    assert found.metrics["pattern_lead_fraction"] == 0.5


def damped(*, share: float = 0.95, entropy: float = 0.05, sinks_to: int = 20) -> Any:
    """Heads 0 to 29 end two bits below their null; the first `sinks_to` as sinks, the rest on few columns."""
    return {
        "kreiss": lambda at, head: 2.0 ** np.where(head < 30, sigmoid(8, low=3, high=1)(at, head), 3.0),
        "null_kreiss": of_head(COUNT, 8.0, 8.0),
        "bos_mass": lambda at, head: np.where(head < sinks_to, 0.9, 0.1),
        "normalised_entropy": of_head(COUNT, entropy, entropy),
        "top_column_share": of_head(COUNT, share, share),
    }


def test_damping_with_a_pattern_is_supported() -> None:
    """Sinks, and near-one-hot rows on few columns."""
    found = verdict("no_damping_without_concentration", damped())
    assert found.verdict == "supported"
    assert (found.metrics["damped_heads"], found.metrics["unexplained_damped_fraction"]) == (30, 0)


@pytest.mark.parametrize("change", [{"share": 0.7}, {"entropy": 0.3}])
def test_both_halves_of_the_other_pattern_are_needed(change: dict[str, float]) -> None:
    """Sharp rows on many columns are no concentration, nor are even rows on few."""
    found = verdict("no_damping_without_concentration", damped(**change))
    assert found.verdict == "refuted"
    assert found.metrics["unexplained_damped_heads"] == 10


def test_one_exception_at_one_checkpoint_denies_support() -> None:
    """The claim says none, at every checkpoint."""
    columns = damped()
    calm = columns["bos_mass"]
    columns["bos_mass"] = lambda at, head: np.where((head == 0) & (at == 10), 0.1, calm(at, head))
    columns["normalised_entropy"] = of_head(1, 0.5, 0.05)
    found = verdict("no_damping_without_concentration", columns)
    assert found.verdict == "undecided"
    assert found.metrics["unexplained_damped_heads"] == 1


def test_too_few_damped_heads_are_inestimable() -> None:
    """Nothing damped, nothing to explain."""
    columns = {**damped(), "kreiss": of_head(COUNT, 8.0, 8.0)}
    found = verdict("no_damping_without_concentration", columns)
    assert found.verdict == "inestimable"
    assert found.metrics["damped_heads"] == 0
