"""The ablation stage and its view: each head's loss rise reaches its own row and column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from model_calls import LENGTH, TinyStudy, mean_loss

from resolvent.evidence.stages import ablation
from resolvent.evidence.stages.ablation import ablation_shards
from resolvent.evidence.views import TooFewTexts
from resolvent.evidence.views.ablation import Ablation
from resolvent.models.intervene.heads import ablate_heads

PROTOCOL = {"text": "corpus", "length": LENGTH, "texts": 2}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyStudy:
    return TinyStudy(tmp_path_factory.mktemp("tiny"), texts=10)


def test_criticality_is_the_loss_rise_of_its_head(tiny: TinyStudy, monkeypatch: pytest.MonkeyPatch):
    """Over several shards a text: no head may land in another's place."""
    monkeypatch.setattr(ablation, "HEADS_PER_SHARD", 8)
    shards = Ablation.shards(tiny.subject, None, PROTOCOL)  # type: ignore[arg-type]
    assert len(shards) == 4, "two texts, and three layers of four heads in groups of two"
    view = Ablation(tiny.subject, None, PROTOCOL, tiny.load)  # type: ignore[arg-type]
    assert view.by_text.shape == (2, 12)
    for text, layer, head in ((0, 0, 0), (0, 2, 3), (1, 1, 2)):
        base = mean_loss(tiny.loaded, tiny.token_ids[text])
        with ablate_heads(tiny.loaded, {layer: [head]}):
            expected = mean_loss(tiny.loaded, tiny.token_ids[text]) - base
        assert view.by_text[text, 4 * layer + head] == pytest.approx(expected, abs=1e-5)
    np.testing.assert_allclose(view.criticality, view.by_text.mean(axis=0))
    assert np.abs(view.criticality).max() > 1e-2


def test_base_loss_is_that_of_the_capture(tiny: TinyStudy):
    """The rise is over the untouched model on the same text."""
    (shard,) = ablation_shards(tiny.subject, texts=[9], state="corpus", length=LENGTH, repeat=None)
    table = tiny.load(shard).arrays
    assert set(table["text"]) == {9}
    np.testing.assert_allclose(table["base_loss"], mean_loss(tiny.loaded, tiny.token_ids[9]), rtol=1e-5)


def test_a_shorter_length_is_the_leading_part_of_the_text(tiny: TinyStudy):
    """The loss of a prefix, not of the whole text."""
    (shard,) = ablation_shards(tiny.subject, texts=[0], state="corpus", length=7, repeat=None)
    np.testing.assert_allclose(
        tiny.load(shard).arrays["base_loss"], mean_loss(tiny.loaded, tiny.token_ids[0, :7]), rtol=1e-5
    )


def test_texts_that_are_not_there_are_counted(tiny: TinyStudy):
    """A corpus that is too small makes empty tables and an inestimable claim, no crash."""
    with pytest.raises(TooFewTexts) as few:
        Ablation(tiny.subject, None, {**PROTOCOL, "texts": 12}, tiny.load)  # type: ignore[arg-type]
    assert (few.value.found, few.value.asked) == (10, 12)


def test_shards_of_a_wide_model_have_one_layer(tmp_path: Path, tiny: TinyStudy, monkeypatch: pytest.MonkeyPatch):
    """A layer with more heads than a shard should have is still measured whole."""
    monkeypatch.setattr(ablation, "HEADS_PER_SHARD", 3)
    shards = ablation_shards(tiny.subject, texts=[0], state="corpus", length=LENGTH, repeat=None)
    assert [shard.params["layers"] for shard in shards] == [[0, 1], [1, 2], [2, 3]]
    assert len({shard.id for shard in shards}) == 3
