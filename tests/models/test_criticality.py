"""Losses without a head: those of weight surgery and a whole pass, though the lower layers are computed once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch
from by_hand import hooks, mean_loss, zeroed_head

from resolvent.models import criticality
from resolvent.models.criticality import head_losses
from resolvent.models.load import LoadedModel
from resolvent.models.preflight import PreflightError


def test_losses_are_those_of_weight_surgery(any_family: LoadedModel):
    """Every layer and head; a stream taken at the wrong boundary or a batch in the wrong order would show."""
    ids = tiny_models.texts(1)[0]
    found = head_losses(any_family, ids, range(any_family.layers))
    assert found.base == pytest.approx(mean_loss(any_family, ids), rel=1e-6)
    assert found.without.shape == (any_family.layers, any_family.heads)
    for layer, head in np.ndindex(found.without.shape):
        with zeroed_head(any_family, layer, head):
            assert found.without[layer, head] == pytest.approx(mean_loss(any_family, ids), rel=2e-6), (layer, head)
    assert np.ptp(found.without) > 1e-2, "heads that cost nothing could not be told apart"


def test_some_layers_in_any_order(any_family: LoadedModel):
    """A shard takes a group of layers; rows follow the order asked."""
    ids = tiny_models.texts(1)[0]
    every = head_losses(any_family, ids, range(any_family.layers)).without
    np.testing.assert_allclose(head_losses(any_family, ids, [2, 0]).without, every[[2, 0]], rtol=1e-6)


@pytest.mark.parametrize("bound", ["LOGIT_BYTES", "MAP_BYTES"])
@pytest.mark.parametrize("heads", [1, 3])
def test_heads_in_small_batches_give_the_same_losses(
    any_family: LoadedModel, monkeypatch: pytest.MonkeyPatch, bound: str, heads: int
):
    """Memory decides how many heads are a batch; it must not decide what they are worth."""
    ids = tiny_models.texts(1)[0]
    whole = head_losses(any_family, ids, [1]).without
    n, per_head = len(ids), {"LOGIT_BYTES": any_family.vocabulary, "MAP_BYTES": len(ids) * any_family.heads}
    monkeypatch.setattr(criticality, bound, heads * 4 * n * per_head[bound])
    assert criticality._heads_at_once(any_family, n) == heads
    np.testing.assert_allclose(head_losses(any_family, ids, [1]).without, whole, rtol=1e-6)


def test_nothing_stays_behind(any_family: LoadedModel):
    """Neither hooks nor replaced functions, and the model computes what it did."""
    ids = tiny_models.texts(1)[0]
    before, loss = hooks(any_family), mean_loss(any_family, ids)
    head_losses(any_family, ids, [0, 1, 2])
    assert hooks(any_family) == before
    assert mean_loss(any_family, ids) == loss


def test_a_block_that_reads_more_than_the_stream_is_refused(tmp_path: Path):
    """Then the upper part can't be run alone, and a wrong loss would come out."""
    loaded = tiny_models.load(tmp_path)
    first, last = loaded.blocks()[0], loaded.blocks()[2]
    passed: list[torch.Tensor] = []
    first.register_forward_hook(lambda _m, inputs, output: passed.append(output - inputs[0]))
    last.register_forward_hook(lambda _m, _i, output: output + passed[-1].mean())
    with pytest.raises(PreflightError, match="run again from layer 1"):
        head_losses(loaded, tiny_models.texts(1)[0], [1])


def test_a_text_without_bos_is_refused(any_family: LoadedModel):
    """The preflight of every measurement holds here too."""
    with pytest.raises(PreflightError, match="BOS"):
        head_losses(any_family, tiny_models.texts(1)[0][1:], [0])
