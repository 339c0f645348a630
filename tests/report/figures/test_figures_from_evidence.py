"""From evidence to a figure's data, on planted attention: the numbers are those of the maps."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.evidence.planted import PlantedEvidence
from resolvent.models.subjects import StudySubjects, Subject
from resolvent.operators import depth_products, deviation_power_norms, kreiss_constant, kreiss_from_bos_mass
from resolvent.report.figures.from_evidence import (
    POWERS,
    Head,
    attention_data,
    bos_mass_law_data,
    depth_data,
    portrait_data,
    signed_census_data,
    state_change_data,
    telling_heads,
    trajectories_data,
    transient_data,
)
from resolvent.report.figures.trajectories import trajectories
from resolvent.report.law_numbers import law_numbers
from resolvent.report.stored_evidence import EvidenceGone, StoredEvidence, run_keys
from resolvent.study import Study

TEXTS, LAYERS, HEADS = 8, 2, 3
SINK = (1, 2)
REPEAT = 60

SUBJECT = Subject(
    name="planted", entry={}, source="local", bos=0, corpus="planted", trained=True, norm="rmsnorm", positions="rope",
    layers=LAYERS, heads=HEADS,
)  # fmt: skip


class OfPlanted(StoredEvidence):
    """Stored evidence whose store is planted attention."""

    def __init__(self, planted: PlantedEvidence, subjects: StudySubjects) -> None:
        self._planted = planted
        self._known = subjects
        self._views = {}

    @property
    def subjects(self) -> StudySubjects:
        return self._known

    def load(self, shard):
        return self._planted.load(shard)


def rows(n: int) -> np.ndarray:
    """Random rows; one head keeps all but a thousandth on BOS."""
    maps = np.tril(np.random.default_rng(5).standard_exponential((TEXTS, LAYERS, HEADS, n, n)))
    maps /= maps.sum(axis=-1, keepdims=True)
    maps[:, *SINK] = 1e-3 * maps[:, *SINK]
    maps[:, *SINK, :, 0] += 1 - 1e-3
    return maps


def probes() -> np.ndarray:
    """40 repeat probes; in the second copy the sink attends to what followed its token in the first."""
    maps = np.concatenate([rows(121)] * 5)
    second = np.arange(REPEAT + 1, 2 * REPEAT + 1)
    maps[:, *SINK, second] = 0.0
    maps[:, *SINK, second, second - REPEAT + 1] = 0.9
    maps[:, *SINK, second, 0] = 0.1
    return maps


@pytest.fixture(scope="module")
def maps() -> dict[str, np.ndarray]:
    return {"corpus": rows(128), "repeat_probe": probes()}


@pytest.fixture(scope="module")
def evidence(maps) -> OfPlanted:
    nowhere = Path("nowhere")
    subjects = StudySubjects(seed=7, texts={}, cohorts={}, subjects={"planted": SUBJECT})
    return OfPlanted(PlantedEvidence(Study(nowhere, nowhere, nowhere), SUBJECT, maps, seed=7), subjects)


CORPUS = {"text": "corpus", "length": 32, "texts": TEXTS}


def leading(maps: np.ndarray, n: int) -> np.ndarray:
    """The maps of the first n positions, as the stages read them: float32, renormalised."""
    block = maps[..., :n, :n].astype(np.float32).astype(np.float64)
    return block / block.sum(axis=-1, keepdims=True)


def test_the_census_finds_the_planted_sink(evidence):
    """Head 1.2, number 5, is suppressed; what is drawn agrees with the law."""
    protocol = {**CORPUS, "nulls": {"row_permutation": 2}}
    data = signed_census_data(evidence, SUBJECT, protocol, null="row_permutation")
    assert data.excess.argmin() == 5
    assert data.suppressed[5]
    assert data.bos_mass[5] > 0.99
    assert data.law_excess[5] == pytest.approx(data.excess[5], abs=0.01)


def test_the_law_is_evaluated_at_each_head_s_mass(evidence):
    """Medians over texts."""
    data = bos_mass_law_data(evidence, SUBJECT, CORPUS)
    assert data.kreiss[5] == pytest.approx(1.0)
    assert data.error[5] == pytest.approx(0.0, abs=1e-6)
    numbers = law_numbers(evidence, SUBJECT, [CORPUS, {"text": "corpus"}, {**CORPUS, "length": 16}])
    assert numbers is not None
    assert numbers["length"] == 32, "the largest battery that is there"
    assert numbers["measured_kreiss"] == pytest.approx(float(np.median(data.kreiss)))
    law = np.median(kreiss_from_bos_mass(evidence.view("census", SUBJECT, CORPUS).real["bos_mass"], 32), axis=0)
    assert numbers["predicted_kreiss"] == pytest.approx(float(np.median(law)))
    assert law_numbers(evidence, SUBJECT, [{"text": "repeat_probe", "length": 16, "texts": 1}]) is None


def test_transients_are_powers_of_the_text_s_own_maps(evidence, maps):
    """The first text, the chosen heads."""
    heads = {Head(0, 1): "", Head(*SINK): "the sink"}
    data = transient_data(evidence, SUBJECT, CORPUS, heads)
    own = leading(maps["corpus"], 32)[0]
    assert np.allclose(data.log10_norm, deviation_power_norms(own[[0, 1], [1, 2]], POWERS), atol=1e-4)
    assert data.labels == ("0.1", "1.2, the sink")
    assert "most BOS mass" in telling_heads(evidence, SUBJECT, CORPUS).values()


def test_a_portrait_is_of_the_deflated_head(evidence, maps):
    """Symmetric about the real axis, its K the certified one."""
    data = portrait_data(evidence, SUBJECT, CORPUS, Head(0, 0), text=2)
    own = leading(maps["corpus"], 32)[2, 0, 0]
    assert data.kreiss == pytest.approx(kreiss_constant(own).lower, rel=1e-4)
    assert np.array_equal(data.log10_sigma, data.log10_sigma[::-1])
    assert data.y[0] == -data.y[-1]
    assert data.log10_sigma.shape == (len(data.y), len(data.x))
    assert np.allclose(np.sort(data.eigenvalues), np.sort([0, *np.diagonal(own)[1:]]), atol=1e-6)


def test_attention_is_shown_as_captured(evidence, maps):
    """The leading block of the text's map."""
    data = attention_data(evidence, SUBJECT, CORPUS, [Head(1, 0)], text=7)
    assert np.allclose(data.maps[0], leading(maps["corpus"], 32)[7, 1, 0], atol=1e-6)
    with pytest.raises(ResolventError, match="no text 9 of corpus"):
        attention_data(evidence, SUBJECT, CORPUS, [Head(1, 0)], text=9)


def test_depth_products_are_those_of_the_layer_means(evidence, maps):
    """D and E per text and depth; nulls and rollout beside them."""
    protocol = {**CORPUS, "nulls": {"layer_permutation": 1}, "baseline": "uniform_attention"}
    data = depth_data(evidence, SUBJECT, protocol)
    stack = leading(maps["corpus"], 32)[3].mean(axis=0 + 1)
    assert np.allclose(data.deviation[3], depth_products(stack).log10_deviation, atol=1e-4)
    assert data.null_gap["layer_permutation"].shape == (TEXTS, LAYERS)
    assert data.baseline_gap is not None
    by_state = depth_data(evidence, SUBJECT, {**CORPUS, "text": ["corpus", "repeat_probe"], "repeat": 60})
    assert list(by_state.other_gap) == ["repeat_probe"]


def test_a_state_change_is_seen_in_the_head_that_was_planted(evidence):
    """A sink on the corpus that finds its trigger in the second copy: its excess rises, and so it does by the law."""
    protocol = {
        "text": ["corpus", "repeat_probe"],
        "repeat": REPEAT,
        "length": 121,
        "texts": TEXTS,
        "score_texts": 8,
        "nulls": {"row_permutation": 1},
        "classes": {"induction": 0.4},
    }
    data = state_change_data(evidence, SUBJECT, protocol, null="row_permutation", since="corpus", to="repeat_probe")
    assert data.in_class.tolist() == [False] * 5 + [True]
    assert data.change.argmax() == 5
    assert data.change[5] > 1
    assert data.law_change[5] > 1
    assert data.after[5] > 1.5 * data.before[5]


@pytest.mark.parametrize(("text", "message"), [("4-11", "LAYER.HEAD"), ("2.0", "layers 0 to 1"), ("0.3", "0 to 2")])
def test_a_head_is_named_by_layer_and_head(text, message):
    """From 0; others are refused with what there is."""
    assert Head.parse("1.2", SUBJECT) == Head(1, 2)
    with pytest.raises(ResolventError, match=message):
        Head.parse(text, SUBJECT)


class PlantedTrajectory:
    """Three checkpoints of four heads: one ends as a sink, all fall."""

    steps = (0, 1, 10)
    log2_kreiss = np.array([[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 2.0], [2.0, 2.0, 2.0, 0.0]])
    log2_law = log2_kreiss - 0.25
    previous_token_heads = np.array([True, False, False, False])

    def excess(self, kind):
        assert kind == "row_permutation"
        return self.log2_kreiss - 3

    def median(self, name):
        assert name == "bos_mass"
        return np.array([[0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.3], [0.2, 0.2, 0.2, 0.9]])


class OfTrajectory(StoredEvidence):
    """Evidence that holds one view."""

    def __init__(self):
        pass

    def view(self, name, subject, protocol):
        assert name == "trajectory"
        return PlantedTrajectory()


def test_trajectories_are_medians_over_heads_at_tokens_seen():
    """Classes by the last checkpoint; the law's prediction beside what was measured."""
    from resolvent.models.subjects import Series

    series = Series(revision="step{}", steps=(0, 1, 10), tokens_per_step=1000)
    trained = dataclasses.replace(SUBJECT, series=series)
    protocol = {"text": "corpus", "nulls": {"row_permutation": 2}, "classes": {"previous_token": 0.5}}
    excess, kreiss = trajectories_data(OfTrajectory(), trained, protocol)
    assert excess.tokens.tolist() == [0, 1000, 10000]
    assert excess.lines["all heads"].tolist() == [0, 0, -1]
    assert excess.lines["heads that end as sinks"].tolist() == [0, -1, -3]
    assert excess.lines["previous-token heads"].tolist() == [0, 0, -1]
    assert kreiss.lines["BOS mass alone"].tolist() == [2.75, 2.75, 1.75]
    (alone,) = trajectories_data(OfTrajectory(), trained, {"text": "corpus"})
    assert alone.quantity == "log₂ K_dev, bits"
    assert trajectories(alone)[0].title == "Log₂ K_dev over training"
    with pytest.raises(ResolventError, match="no series of checkpoints"):
        trajectories_data(OfTrajectory(), SUBJECT, protocol)


class EmptyEngine:
    """An engine over an empty store."""

    store = None

    def key(self, shard):
        return shard.id

    def complete(self, shard):
        return False


def test_a_report_computes_nothing_and_reads_only_its_run():
    """Evidence that is gone, or is not the run's, is said, not replaced."""
    from resolvent.evidence.stages.capture import capture_shard

    shard = capture_shard("planted", state="corpus", captured=0, repeat=None)
    with pytest.raises(EvidenceGone, match="is not in the store"):
        StoredEvidence(EmptyEngine()).load(shard)
    with pytest.raises(EvidenceGone, match="the run did not rest on"):
        StoredEvidence(EmptyEngine(), run_keys({"evidence": {"cached": {"other": ""}}})).load(shard)
