"""The residual-stream view on planted arrays: onsets by the frozen convention, medians over texts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Result, Shard
from resolvent.evidence.views import TooFewTexts
from resolvent.evidence.views.residual_stream import ONSET, ResidualStream

LAYERS, HEADS, TEXTS, WIDTH = 4, 2, 3, 5
SUBJECT: Any = SimpleNamespace(name="planted", layers=LAYERS, heads=HEADS, corpus="speeches")
PROTOCOL = {"text": "corpus", "length": 128, "texts": TEXTS, "onset": ONSET}

# Boundaries 0..4: the largest rise is to the last, which no layer reads; below it, into boundary 2.
LARGEST = np.array([1.0, 2.0, 302.0, 303.0, 9000.0])
SINK = np.array([0.1, 0.2, 0.3, 0.9])


def view(*, texts: int = TEXTS, protocol: dict[str, Any] = PROTOCOL, late_text: int = -1) -> ResidualStream:
    """`late_text` is a text whose sink jumps in layer 1 already."""

    def load(shard: Shard) -> Result:
        if shard.stage.name == "residual":
            magnitude = np.ones((texts, LAYERS + 1, WIDTH))
            magnitude[:, :, 3] = LARGEST
            return Result(
                {
                    "text": np.arange(texts),
                    "bos_magnitude": magnitude,
                    "median_magnitude": np.full((texts, LAYERS + 1), 2.0),
                }
            )
        text, layer, head = (grid.reshape(-1) for grid in np.indices((texts, LAYERS, HEADS)))
        mass = SINK[layer] + np.where(head == 0, 0.05, -0.05)
        mass = np.where(text == late_text, np.array([0.0, 0.9, 0.9, 0.9])[layer], mass)
        return Result({"text": text, "layer": layer, "head": head, "bos_mass": mass})

    return ResidualStream(SUBJECT, None, protocol, load)  # type: ignore[arg-type]


def test_onsets_follow_the_frozen_convention():
    """The layer that reads the boundary against the layer of the sink: 2 and 3, so massive leads by one."""
    found = view()
    assert found.massive_onset.tolist() == [2, 2, 2]
    assert found.sink_onset.tolist() == [3, 3, 3]
    np.testing.assert_allclose(found.sink_jump, 0.6)


def test_every_text_has_its_own_onset():
    """Medians are taken over texts of the onsets, not onsets of the medians."""
    found = view(late_text=1)
    assert found.sink_onset.tolist() == [3, 1, 3]
    np.testing.assert_allclose(found.sink_jump, [0.6, 0.9, 0.6])


def test_bos_attention_is_the_median_over_texts_then_the_mean_over_heads():
    """One odd text of three must not move it."""
    assert view(late_text=1).mean_bos_attention == pytest.approx(SINK.mean())


def test_the_massive_ratio_takes_every_boundary():
    """The last one too, though no layer reads it."""
    assert view().boundaries.massive_ratio == 4500.0


def test_another_convention_is_refused():
    """A frozen file that says something else must not silently get this one."""
    with pytest.raises(ResolventError, match=r"onset .* is unknown"):
        view(protocol={**PROTOCOL, "onset": {**ONSET, "jump": "ratio"}})


def test_missing_texts_are_counted():
    """With the numbers, so that the claim is inestimable and says why."""
    with pytest.raises(TooFewTexts, match="2 texts, 3 needed"):
        view(texts=2)
