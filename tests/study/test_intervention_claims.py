"""The intervention claims on a planted model: their tests, their frozen criteria, the verdicts of the plant."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from model_calls import TinyStudy
from planted_sink import EMERGES, save_planted

from resolvent.evidence.views.bos_mlp import BosMlp
from resolvent.evidence.views.clamping import Clamping
from resolvent.evidence.views.residual_stream import ResidualStream
from resolvent.registry import Judgement, judge, load_claim

REPOSITORY = Path(__file__).resolve().parents[2]
LENGTH = 48
ATTRIBUTES = {"trained": True, "norm": "rmsnorm", "positions": "rope", "layers": 5, "heads": 4, "checkpoints": 0}


class Claim:
    """What a claim test is given, at short texts: judges by the frozen file."""

    def __init__(self, name: str) -> None:
        self._claim = load_claim(REPOSITORY / "prereg" / f"{name}.yaml")
        self.protocol: Mapping[str, Any] = {**self._claim.protocol, "length": LENGTH}
        self.judgement: Judgement | None = None

    def judge(self, **metrics: Any) -> None:
        assert self.judgement is None
        self.judgement = judge(self._claim, "planted", ATTRIBUTES, metrics)

    def verdict(self, **metrics: Any) -> str:
        return judge(self._claim, "planted", ATTRIBUTES, metrics).verdict


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> TinyStudy:
    return TinyStudy(tmp_path_factory.mktemp("planted"), texts=40, length=LENGTH, save=save_planted)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> TinyStudy:
    return TinyStudy(tmp_path_factory.mktemp("plain"), texts=40, length=LENGTH)


@pytest.fixture(scope="module")
def claim_tests() -> ModuleType:
    spec = importlib.util.spec_from_file_location("intervention_claims", REPOSITORY / "claims/test_interventions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judged(claim_tests: ModuleType, name: str, kind: Callable[..., Any], tiny: TinyStudy) -> Judgement:
    claim = Claim(name)
    getattr(claim_tests, f"test_{name}")(claim, kind(tiny.subject, None, claim.protocol, tiny.load))
    assert claim.judgement is not None
    return claim.judgement


def criteria(judgement: Judgement) -> dict[str, bool]:
    return {criterion.name: criterion.holds for criterion in judgement.criteria}


def test_massive_activations_do_not_lag(claim_tests: ModuleType, planted: TinyStudy) -> None:
    """Layer 2 reads them first and is the first to go to BOS: lead 0."""
    found = judged(claim_tests, "massive_timing", ResidualStream, planted)
    assert found.verdict == "supported"
    assert found.metrics["massive_lead_layers"] == 0
    assert found.metrics["massive_onset_layer"] == EMERGES + 1


def test_the_clamp_deletes_the_sink(claim_tests: ModuleType, planted: TinyStudy) -> None:
    """All that is about attention holds; a model that has learned nothing has no function to lose."""
    found = judged(claim_tests, "clamping_rmsnorm", Clamping, planted)
    holds = criteria(found)
    assert holds["sink_deleted"]
    assert holds["damper_released"]
    assert holds["mass_diffuses"]
    assert holds["controls_keep_damping"]
    assert not holds["functional_damage"]
    assert found.verdict == "refuted"


def test_the_layernorm_claim_is_the_opposite(claim_tests: ModuleType, planted: TinyStudy) -> None:
    """What supports the one refutes the other: the same numbers against the other predicates."""
    claim = Claim("clamping_layernorm")
    claim_tests.test_clamping_layernorm(claim, Clamping(planted.subject, None, claim.protocol, planted.load))  # type: ignore[arg-type]
    assert claim.judgement is not None
    assert claim.judgement.verdict == "not_applicable", "the planted model is an RMSNorm model"
    metrics = dict(claim.judgement.metrics)
    other = judge(
        load_claim(REPOSITORY / "prereg/clamping_layernorm.yaml"),
        "planted",
        {**ATTRIBUTES, "norm": "layernorm"},
        metrics,
    )
    assert not criteria(other)["sink_survives"]
    assert other.verdict == "refuted"


def test_without_the_mlp_at_bos_no_sink_forms(claim_tests: ModuleType, planted: TinyStudy) -> None:
    """The one planted layer is ablated: sinks go, the valley fills, the norm is ordinary, controls keep the sink."""
    found = judged(claim_tests, "bos_mlp_ablation", BosMlp, planted)
    assert found.metrics["emergence_layers"] == 1
    assert found.verdict == "supported", found.criteria
    assert found.metrics["flips_with_sinks_at_least"] == 0
    assert found.metrics["other_norm_ratio"] < 3


def test_without_the_mlp_at_bos_the_damper_is_released(claim_tests: ModuleType, planted: TinyStudy) -> None:
    """K_dev more than doubles and lies where the BOS mass puts it."""
    found = judged(claim_tests, "bos_mlp_releases_damper", BosMlp, planted)
    holds = criteria(found)
    assert holds["released"]
    assert holds["controls"]
    assert found.metrics["kreiss_ratio"] > 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [("massive_timing", ResidualStream), ("clamping_rmsnorm", Clamping), ("bos_mlp_ablation", BosMlp)],
)
def test_without_massive_activations_they_are_inestimable(
    claim_tests: ModuleType, plain: TinyStudy, name: str, kind: Callable[..., Any]
) -> None:
    """A random model has none: the number says so, no error and no verdict."""
    found = judged(claim_tests, name, kind, plain)
    assert found.verdict == "inestimable"
    unmet = [requirement for requirement in found.requirements if not requirement.met]
    assert unmet
    assert unmet[0].value is not None
