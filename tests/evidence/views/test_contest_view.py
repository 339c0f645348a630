"""The contest on planted evidence, judged by the claims as they were frozen: tables in, verdict out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Result, Shard
from resolvent.evidence.stages.weights import COLUMNS as WEIGHT_COLUMNS
from resolvent.evidence.views import TooFewTexts
from resolvent.evidence.views.contest import Contest
from resolvent.evidence.views.contest_targets import TARGETS as TARGET_TABLES
from resolvent.registry import Judgement, judge, load_claim
from resolvent.statistics.contest import (
    ADDITIONS,
    BATTERY_COLUMNS,
    RESOLVENT,
    SPECTRAL_AND_CLASSICAL,
    SURVIVAL_POWERS,
    TARGETS,
)

PREREG = Path(__file__).resolve().parents[3] / "prereg"
CLAIMS = {path.stem: load_claim(path) for path in sorted(PREREG.glob("contest_*.yaml"))}
SUBJECTS: Any = SimpleNamespace(seed=7)
TEXTS = 32

TARGET_COLUMNS = {
    "persistence": ("persistence", "log10_persistence"),
    "previous_token": ("battery", "previous_token_mass"),
    "induction": ("behaviour", "induction_score"),
    "duplicate_token": ("behaviour", "duplicate_token_score"),
    "criticality": ("ablation", "criticality"),
}
"""Where each target but interior growth is read from: stage and column."""


def subject(layers: int = 12, heads: int = 8) -> Any:
    return SimpleNamespace(name="planted", layers=layers, heads=heads, corpus="speeches", trained=True)


class Planted:
    """Made-up evidence of one subject: what a head is, text by text, whatever the shard.

    target  (heads,) of the claim's target
    shared  battery column or survival power -> (heads,): what is not mere noise
    """

    def __init__(self, of: Any, name: str, target: np.ndarray, shared: dict[str, np.ndarray], seed: int = 0) -> None:
        self.subject, self.name, self.target, self.shared = of, name, target, shared
        self.heads = of.layers * of.heads
        self.seed = seed

    def load(self, shard: Shard) -> Result:
        """What the stage would have stored, rows shuffled."""
        if shard.stage.name == "weights":
            head = np.random.default_rng(1).permutation(self.heads)
            columns = {name: self._noise(name, 0)[head] for name in WEIGHT_COLUMNS}
        else:
            first, stop = shard.params.get("layers", (0, self.subject.layers))
            text = np.arange(shard.params["start"], min(shard.params["stop"], TEXTS))
            heads = np.arange(first * self.subject.heads, stop * self.subject.heads)
            text, head = (grid.reshape(-1) for grid in np.meshgrid(text, heads, indexing="ij"))
            order = np.random.default_rng(2).permutation(len(text))
            text, head = text[order], head[order]
            columns = {"text": text, **self._columns(shard, text, head)}
        return Result({"layer": head // self.subject.heads, "head": head % self.subject.heads, **columns})

    def _columns(self, shard: Shard, text: np.ndarray, head: np.ndarray) -> dict[str, np.ndarray]:
        stage = shard.stage.name
        if stage == "survival":
            return {f"log10_survival_{k}": self._of(f"survival {k}", text, head) for k in shard.params["powers"]}
        if stage == "nulls":
            draw = shard.params["draw"]
            return {
                "kreiss": 2.0 ** self._of(f"null kreiss {draw}", text, head),
                "rho_eps_1e-2": self._of(f"null radius {draw}", text, head),
            }
        columns = {}
        if stage == "battery":
            columns = {name: self._of(name, text, head) for name in BATTERY_COLUMNS}
            columns["kreiss"] = 2.0 ** columns["kreiss"]
            columns["k_sup"] = np.full(len(head), 2.0)
            columns["transient"] = columns["operator_norm"] * 2.0 ** self._spread(self.target, text, head)
        if TARGET_COLUMNS.get(self.name, ("", ""))[0] == stage:
            columns[TARGET_COLUMNS[self.name][1]] = self._spread(self.target, text, head)
        elif stage == "battery":
            columns["previous_token_mass"] = self._of("previous_token_mass", text, head)
        return columns

    def _of(self, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        return self._spread(self.shared.get(name, self._noise(name, self.seed)), text, head)

    def _noise(self, name: str, seed: int) -> np.ndarray:
        return np.random.default_rng([seed, *name.encode()]).standard_normal(self.heads)

    @staticmethod
    def _spread(values: np.ndarray, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        """Texts lie evenly around the head's value, and one of each side is wild: the median is the value."""
        offset = (np.arange(TEXTS) - (TEXTS - 1) / 2) / TEXTS
        offset[[0, -1]] *= 20
        return values[head] + 0.1 * offset[text]


def planted(claim: str, *, e: float = 0.0, p: float = 0.0, of: Any = None, **shared: np.ndarray) -> Planted:
    """A target of which one feature of E and one of P carry the given weights."""
    of = of or subject()
    heads = of.layers * of.heads
    # A fixed order of draws: what P carries is the same for every claim.
    entropy, departure, noise = np.random.default_rng(11).standard_normal((3, heads))
    target = e * entropy + p * departure + 0.6 * noise
    found = {"row_entropy": entropy, "departure": departure, **shared}
    return Planted(of, CLAIMS[claim].protocol["target"], target, found)


def view_of(claim: str, evidence: Planted, **protocol: Any) -> Contest:
    return Contest(evidence.subject, SUBJECTS, {**CLAIMS[claim].protocol, **protocol}, evidence.load)


def judged(claim: str, evidence: Planted) -> Judgement:
    metrics = view_of(claim, evidence).metrics(claim)
    return judge(CLAIMS[claim], "planted", {"trained": True}, metrics)


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_only_resolvent_features_know_supports_the_claim(claim: str) -> None:
    """From the tables of every target to the frozen criteria, nothing may lose the signal."""
    found = judged(claim, planted(claim, p=1.5))
    assert found.verdict == "supported"
    assert all(result.margin > 0.05 for result in found.criteria)


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_only_classical_features_know_refutes_the_claim(claim: str) -> None:
    """P then predicts nothing and adds nothing."""
    assert judged(claim, planted(claim, e=1.5)).verdict == "refuted"


def test_what_nobody_knows_is_no_support() -> None:
    """A target of noise alone."""
    assert judged("contest_induction", planted("contest_induction")).verdict != "supported"


def test_what_both_know_is_no_support() -> None:
    """The departure says in other units what the entropy says."""
    evidence = planted("contest_previous_token", e=1.5)
    evidence.shared["departure"] = 3.0 + 2.0 * evidence.shared["row_entropy"]
    found = judged("contest_previous_token", evidence)
    assert found.verdict != "supported"
    assert found.metrics["r2_p_standardised"] > 0.5


@pytest.mark.parametrize(
    ("plain", "beyond", "power"),
    [
        ("contest_persistence", "contest_persistence_beyond_survival", 2),
        ("contest_previous_token", "contest_beyond_survival", 16),
    ],
)
def test_plain_survival_takes_the_win_away_where_it_knows_as_much(plain: str, beyond: str, power: int) -> None:
    """The same evidence supports the published claim and not the one whose family E holds survival."""
    evidence = planted(plain, p=1.5)
    evidence.shared[f"survival {power}"] = 0.1 * evidence.shared["departure"] - 1.0
    assert judged(plain, evidence).verdict == "supported"
    assert judged(beyond, evidence).verdict != "supported"


def test_a_win_of_kreiss_alone_is_none_without_it() -> None:
    """And the report says so in both directions, whichever the claim excludes."""
    evidence = planted("contest_previous_token")
    evidence.target = evidence._noise("kreiss", 0) + 0.3 * evidence.target
    with_it = judged("contest_previous_token", evidence)
    without = judged("contest_previous_token_without_kreiss", evidence)
    assert with_it.verdict == "supported"
    assert without.verdict != "supported"
    assert with_it.metrics["decisive_gain_without_kreiss.low"] <= 0 < without.metrics["decisive_gain_with_kreiss.low"]
    growth = judged("contest_interior_growth", Planted(subject(), "interior_growth", evidence.target, {}))
    assert growth.verdict != "supported"
    assert growth.metrics["decisive_gain_with_kreiss.low"] > 0


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_head_has_its_own_target_and_columns(claim: str) -> None:
    """Medians over texts (the mean of eight for criticality), heads layer by layer, whatever the order of rows."""
    evidence = planted(claim, p=1.0)
    view = view_of(claim, evidence)
    if CLAIMS[claim].protocol["target"] == "criticality":
        eight = Planted._spread(np.zeros(1), np.arange(8), np.zeros(8, dtype=int)).mean()
        np.testing.assert_allclose(view.target, evidence.target + eight, atol=1e-12)
    else:
        np.testing.assert_allclose(view.target, evidence.target, atol=1e-12)
    np.testing.assert_array_equal(view.layer, np.repeat(np.arange(12), 8))
    np.testing.assert_allclose(view.columns["departure"], evidence.shared["departure"], atol=1e-12)
    np.testing.assert_allclose(view.columns["weight_departure"], evidence._noise("weight_departure", 0))
    added = [name for addition in CLAIMS[claim].protocol.get("add_to_family_e", ()) for name in ADDITIONS[addition]]
    assert set(SPECTRAL_AND_CLASSICAL + RESOLVENT) | set(added) <= set(view.columns)


def test_survival_is_a_share_of_what_started() -> None:
    """log10(||B^k 1||/√(n−1)) at n = 121, and the slope over the five powers."""
    claim = "contest_persistence_beyond_survival"
    evidence = planted(claim, p=1.0)
    evidence.shared |= {f"survival {k}": np.full(96, 0.5 * np.log10(120) - 0.25 * k) for k in SURVIVAL_POWERS}
    columns = view_of(claim, evidence).columns
    np.testing.assert_allclose(columns["log10_survival_2"], -0.5, atol=1e-12)
    np.testing.assert_allclose(columns["survival_16"], 1e-4, rtol=1e-2)
    np.testing.assert_allclose(columns["survival_slope"], -0.25, atol=1e-12)


def test_no_growth_is_zero_growth() -> None:
    """Where k_sup is 1 the ratio is 1, also of an operator that is zero."""
    evidence = planted("contest_interior_growth", p=1.0)

    def load(shard: Shard) -> Result:
        result = evidence.load(shard)
        if shard.stage.name != "battery":
            return result
        still = (result.arrays["layer"] == 0) & (result.arrays["head"] < 2)
        changed = {"k_sup": 1.0, "transient": 0.0, "operator_norm": 0.0}
        return Result(
            {name: np.where(still, changed.get(name, column), column) for name, column in result.arrays.items()}
        )

    view = Contest(evidence.subject, SUBJECTS, CLAIMS["contest_interior_growth"].protocol, load)
    np.testing.assert_array_equal(view.target[:2], 0.0)
    np.testing.assert_allclose(view.target[2:], evidence.target[2:], atol=1e-12)


def test_what_is_gone_or_infinite_is_judged_all_the_same() -> None:
    """A deviation that is exactly zero has the persistence −inf; an eigenbasis that is none the condition +inf."""
    evidence = planted("contest_persistence", p=1.5)
    gone = int(np.argmin(evidence.target))
    evidence.target[gone] = -np.inf
    evidence.shared["log10_condition"] = np.where(np.arange(96) % 7 == 0, np.inf, np.arange(96.0))
    evidence.shared["dobrushin"] = np.ones(96)
    found = judged("contest_persistence", evidence)
    assert found.verdict == "supported"
    assert all(np.isfinite(value) for value in found.metrics.values())


@pytest.mark.parametrize(("layers", "heads", "known"), [(6, 8, 3), (2, 4, 3), (8, 6, None)])
def test_few_heads_are_inestimable_by_their_number(layers: int, heads: int, known: int | None) -> None:
    """Also where the folds can't be made at all; what can be computed is reported."""
    found = judged("contest_previous_token", planted("contest_previous_token", p=1.5, of=subject(layers, heads)))
    assert found.verdict == "inestimable"
    first = found.requirements[0]
    assert (first.metric, first.value, first.met) == ("total_heads", layers * heads, False)
    assert len(found.metrics) == known if known else found.metrics["r2_p_standardised"] > 0.3


def test_a_target_of_few_values_is_inestimable() -> None:
    """A constant score has no R², and that is no error."""
    evidence = planted("contest_duplicate_token")
    evidence.target = np.full(96, 0.25)
    found = judged("contest_duplicate_token", evidence)
    assert found.verdict == "inestimable"
    assert [(r.metric, r.met) for r in found.requirements][-1] == ("target_distinct_values", False)


def test_too_few_texts_are_counted() -> None:
    """Inestimable with both numbers, not a contest on what happens to be there."""
    claim = "contest_previous_token"
    with pytest.raises(TooFewTexts, match="32 texts, 40 needed"):
        view_of(claim, planted(claim), texts=40)


@pytest.mark.parametrize("claim", CLAIMS)
def test_only_what_the_claim_needs_is_planned(claim: str) -> None:
    """Survival where E holds it, probes for what is scored on probes, ablations for criticality."""
    protocol = CLAIMS[claim].protocol
    stages = {shard.stage.name for shard in Contest.shards(subject(), SUBJECTS, protocol)}
    expected = {"battery", "nulls", "weights", TARGET_COLUMNS.get(protocol["target"], ("battery",))[0]}
    assert stages == expected | ({"survival"} if "add_to_family_e" in protocol else set())


def test_persistence_is_asked_for_at_half_depth() -> None:
    """⌈L/2⌉, of an odd number of layers too."""
    for layers, power in ((12, 6), (13, 7)):
        shards = Contest.shards(subject(layers), SUBJECTS, CLAIMS["contest_persistence"].protocol)
        assert {shard.params["power"] for shard in shards if shard.stage.name == "persistence"} == {power}


def test_every_target_has_its_evidence() -> None:
    """A rule may name any of these."""
    assert set(TARGET_TABLES) == set(TARGETS)


@pytest.mark.parametrize(
    ("claim", "change", "message"),
    [
        ("contest_induction", {"text": "corpus"}, "target induction needs the text repeat_probe"),
        ("contest_induction", {"text": "repeat_probe"}, "features are those of corpus"),
        ("contest_induction", {"nulls": {"dirichlet": 4}}, "takes nulls of row_permutation"),
        ("contest_induction", {"target": "charm"}, "target is 'charm'"),
        ("contest_previous_token", {"target": "criticality"}, "needs `criticality_texts`"),
    ],
)
def test_a_protocol_that_asks_for_something_else_is_refused(claim: str, change: dict[str, Any], message: str) -> None:
    """While planning: no evidence may be made for a contest that can't be held."""
    with pytest.raises(ResolventError, match=message):
        Contest.shards(subject(), SUBJECTS, {**CLAIMS[claim].protocol, **change})


def test_folds_are_the_claims_own_and_threads_change_nothing() -> None:
    """Equal to the bit for one claim, on any number of threads; other folds for another claim."""
    view = view_of("contest_previous_token", planted("contest_previous_token", p=0.5))

    def numbers(claim: str) -> np.ndarray:
        return view.result(claim).settings["layer", "rank_normal"].families["E+P"].prediction

    with threadpool_limits(1):
        first = numbers("contest_previous_token")
    with threadpool_limits(2):
        np.testing.assert_array_equal(numbers("contest_previous_token"), first)
    assert not np.array_equal(numbers("another_claim"), first)
