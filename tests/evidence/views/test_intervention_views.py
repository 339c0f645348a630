"""Views of the interventions, on a planted model through the real stages: what was planted is what they report."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from model_calls import TinyStudy
from planted_sink import EMERGES, save_planted

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Result, Shard
from resolvent.evidence.views import TooFewTexts
from resolvent.evidence.views.bos_mlp import BosMlp
from resolvent.evidence.views.clamping import Clamping
from resolvent.evidence.views.residual_stream import ONSET, ResidualStream
from resolvent.models.capture import capture
from resolvent.models.intervene.bos_mlp import scale_bos_mlp
from resolvent.operators import battery, unpack_lower
from resolvent.representations import sink_scores, spectrum

LENGTH, LAYERS, HEADS, TEXTS = 24, 5, 4, 10
BASICS = {"text": "corpus", "length": LENGTH, "texts": TEXTS}
CLAMPING = {**BASICS, "dims": 3, "mode": "zero", "also": "boundary_median", "random_controls": 2}
BOS_MLP = {
    **BASICS,
    "select_texts": 8,
    "emergence": {"ratio": 3.0},
    "after": "last",
    "controls": {"draws": 3, "below": 1.5},
    "sink_threshold": 0.3,
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyStudy:
    return TinyStudy(tmp_path_factory.mktemp("planted"), texts=40, length=LENGTH, save=save_planted)


def view_of(kind: Any, tiny: TinyStudy, protocol: dict[str, Any]) -> Any:
    wanted = {shard.id for shard in kind.shards(tiny.subject, None, protocol)}

    def load(shard: Shard) -> Result:
        assert shard.id in wanted, f"{shard.id} is read, but was not asked for"
        return tiny.load(shard)

    return kind(tiny.subject, None, protocol, load)


@pytest.fixture(scope="module")
def clamping(tiny: TinyStudy) -> Clamping:
    return view_of(Clamping, tiny, CLAMPING)


@pytest.fixture(scope="module")
def bos_mlp(tiny: TinyStudy) -> BosMlp:
    return view_of(BosMlp, tiny, BOS_MLP)


def maps_of(tiny: TinyStudy, texts: slice) -> tuple[np.ndarray, np.ndarray]:
    """Attention (texts, layers, heads, n, n) with rows of sum 1, and the stream."""
    captured = capture(tiny.loaded, tiny.token_ids[texts], boundaries=True)
    maps = unpack_lower(captured.attention, LENGTH).astype(np.float64)
    return maps / maps.sum(axis=-1, keepdims=True), captured.boundaries.astype(np.float64)


def test_planted_massive_activations_lead_the_sink(tiny: TinyStudy):
    """Layer 1 writes them, layer 2 reads them and is the first to go to BOS."""
    found = view_of(ResidualStream, tiny, {**BASICS, "onset": ONSET})
    assert set(found.massive_onset) == set(found.sink_onset) == {EMERGES + 1}
    assert found.boundaries.massive_ratio > 1000
    assert np.median(found.sink_jump) > 0.5


def test_the_clamp_deletes_the_planted_sink(clamping: Clamping):
    """Heads past emergence have nothing else to tell BOS by; local stripes are not planted and stay."""
    assert clamping.base.bos_attention > 0.6
    assert clamping.clamped.bos_attention_drop > 0.6
    assert clamping.clamped.kreiss_ratio > 2
    assert clamping.clamped.entropy_rise_nats > 1
    for control in clamping.controls:
        assert abs(control.bos_attention_drop) < 0.05
        assert control.kreiss_ratio == pytest.approx(1, abs=0.05)


def test_effects_are_medians_over_texts_first(tiny: TinyStudy, clamping: Clamping):
    """Base values against the maps themselves."""
    maps, _ = maps_of(tiny, slice(0, TEXTS))
    columns = battery(maps)
    assert clamping.base.bos_attention == pytest.approx(np.median(columns["bos_mass"], axis=0).mean(), rel=1e-6)
    assert clamping.base.row_entropy == pytest.approx(np.median(columns["row_entropy"], axis=0).mean(), rel=1e-6)
    assert clamping.base.kreiss == pytest.approx(np.median(np.median(columns["kreiss"], axis=0)), rel=1e-6)


def test_the_loss_rise_is_that_of_the_same_text(tiny: TinyStudy, clamping: Clamping):
    """Paired by text: texts differ in loss by more than a clamp changes it."""
    table = tiny.load(next(s for s in Clamping.shards(tiny.subject, None, CLAMPING) if s.stage.name == "clamp"))  # type: ignore[arg-type]
    first = np.unique(table.arrays["text"], return_index=True)[1]
    rise = table.arrays["cross_entropy"][first] - capture(tiny.loaded, tiny.token_ids[:8]).cross_entropy.mean(axis=1)
    assert rise.min() - 1e-6 <= clamping.clamped.loss_rise_nats <= rise.max() + 1e-6


def test_emergence_is_found_where_it_was_planted(bos_mlp: BosMlp):
    """On texts of their own; what lies past it follows."""
    assert bos_mlp.emerging.tolist() == [EMERGES]
    assert bos_mlp.after.tolist() == [2, 3, 4]
    assert bos_mlp.factors[EMERGES] > 100
    assert bos_mlp.estimable


def test_base_values_are_those_of_the_layers_past_emergence(tiny: TinyStudy, bos_mlp: BosMlp):
    """And of the boundaries that they read: 2, 3 and 4, not the last one."""
    maps, streams = maps_of(tiny, slice(0, TEXTS))
    scores = np.median(sink_scores(maps[:, 2:]), axis=0)
    assert bos_mlp.base.sink_rate(0.3) == (scores > 0.3).mean()
    norms = np.linalg.norm(streams[:, 2:5], axis=-1)
    ratio = norms[..., 0] / np.median(norms[..., 1:], axis=-1)
    assert bos_mlp.base.bos_norm_ratio == pytest.approx(np.median(ratio.max(axis=1)), rel=1e-5)
    other = norms[..., 1:].max(axis=-1) / np.median(norms[..., 1:], axis=-1)
    assert bos_mlp.base.other_norm_ratio == pytest.approx(np.median(other.max(axis=1)), rel=1e-5)
    entropy = np.median(spectrum(streams).entropy_bits, axis=0)
    assert bos_mlp.valley("entropy_bits") == pytest.approx(entropy[EMERGES] - entropy[2:5].min(), abs=1e-6)


def test_the_ablation_removes_sink_valley_and_norm(tiny: TinyStudy, bos_mlp: BosMlp):
    """Against a capture within the ablation; controls keep the sink."""
    base, ablated = bos_mlp.base, bos_mlp.ablated
    assert base.sink_rate(0.3) == 1
    assert ablated.sink_rate(0.3) == 0
    assert base.bos_norm_ratio > 100
    assert ablated.bos_norm_ratio < 10
    assert ablated.lowest("entropy_bits") > base.lowest("entropy_bits") + 1
    assert ablated.kreiss > 2 * base.kreiss
    assert len(bos_mlp.controls) == 3
    for control in bos_mlp.controls:
        assert control.sink_rate(0.3) == 1
    with scale_bos_mlp(tiny.loaded, [EMERGES]):
        maps, streams = maps_of(tiny, slice(0, TEXTS))
    assert ablated.bos_attention == pytest.approx(
        np.median(maps[:, 2:, :, 1:, 0].mean(axis=-1), axis=0).mean(), rel=1e-4
    )
    entropy = np.median(spectrum(streams[:, 2:5]).entropy_bits, axis=0)
    assert ablated.lowest("entropy_bits") == pytest.approx(entropy.min(), rel=1e-4)


def test_the_law_error_is_of_the_heads_past_emergence(tiny: TinyStudy, bos_mlp: BosMlp):
    """|log2 K_dev − log2 K(p)| with the text's own mass, medians over texts, then over heads."""
    from resolvent.operators import kreiss_from_bos_mass

    with scale_bos_mlp(tiny.loaded, [EMERGES]):
        maps, _ = maps_of(tiny, slice(0, TEXTS))
    columns = battery(maps[:, 2:])
    error = np.abs(np.log2(columns["kreiss"]) - np.log2(kreiss_from_bos_mass(columns["bos_mass"], LENGTH)))
    assert bos_mlp.ablated.law_error == pytest.approx(np.median(np.median(error, axis=0)), abs=1e-4)


def test_doses_lie_between_base_and_ablation(bos_mlp: BosMlp):
    """BOS norms in the order of the scale; on the first eight texts alone."""
    norms = [bos_mlp.dose[scale].bos_norm_ratio for scale in (0.75, 0.5, 0.25)]
    assert bos_mlp.base.bos_norm_ratio > norms[0] > norms[1] > norms[2] > bos_mlp.ablated.bos_norm_ratio
    assert all(len(dose.heads("bos_mass")) == 8 for dose in bos_mlp.dose.values())


def test_the_two_readings_of_a_sink_differ_at_the_threshold(bos_mlp: BosMlp):
    """A threshold put on one head's own score."""
    from resolvent.representations import bos_sink_scores

    scores = np.median(bos_sink_scores(bos_mlp.ablated.heads("bos_mass"), LENGTH), axis=0)
    threshold = float(np.sort(scores)[5])
    assert bos_mlp.ablated.sink_rate(threshold, ">=") - bos_mlp.ablated.sink_rate(threshold) == pytest.approx(1 / 12)


def test_without_emergence_nothing_is_estimable(tiny: TinyStudy):
    """The counts are there for the verdict; the ablated heads are not asked for."""
    found = view_of(BosMlp, tiny, {**BOS_MLP, "emergence": {"ratio": 1e9}})
    assert (len(found.emerging), len(found.after)) == (0, 0)
    assert not found.estimable


def test_too_few_spare_layers_are_not_estimable(tiny: TinyStudy):
    """Controls need as many layers as are ablated."""
    found = view_of(BosMlp, tiny, {**BOS_MLP, "controls": {"draws": 3, "below": 0.0}})
    assert len(found.emerging) == 1
    assert not found.estimable


def test_an_unknown_reading_of_after_is_refused(tiny: TinyStudy):
    """A frozen file that says something else must not silently get this one."""
    with pytest.raises(ResolventError, match="after first is unknown; allowed: last"):
        view_of(BosMlp, tiny, {**BOS_MLP, "after": "first"})


def test_missing_selecting_texts_are_counted(tiny: TinyStudy):
    """40 texts are there, so 9 that choose layers are not."""
    with pytest.raises(TooFewTexts) as few:
        view_of(BosMlp, tiny, {**BOS_MLP, "select_texts": 9})
    assert (few.value.found, few.value.asked) == (8, 9)


def test_a_base_without_bos_attention_has_no_drop():
    """The claims require some; the view must not divide by zero with a warning."""
    from resolvent.evidence.views.clamping import Effect

    heads: Any = SimpleNamespace(
        bos_attention=0.0,
        self_attention=0.1,
        previous_token_attention=0.1,
        row_entropy=1.0,
        kreiss=1.0,
        largest_kreiss_gap=0.0,
    )
    assert np.isnan(Effect(heads, heads, np.zeros(2)).bos_attention_drop)
