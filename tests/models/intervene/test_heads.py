"""Ablation of heads equals weight surgery on the output projection, in every family."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_models
import torch
from by_hand import hooks, logits, zeroed_head

from resolvent.errors import ResolventError
from resolvent.models.capture import capture
from resolvent.models.intervene.heads import ablate_each_head, ablate_heads
from resolvent.models.intervene.receipts import NoEffect
from resolvent.models.load import LoadedModel


def test_ablation_is_that_of_zeroed_columns(any_family: LoadedModel):
    """After the projection it is no head any more; before it, zero output and zero columns are one thing."""
    ids = tiny_models.texts()
    untouched = logits(any_family, ids)
    for layer, head in ((0, 1), (1, 3), (2, 0)):
        with zeroed_head(any_family, layer, head):
            expected = logits(any_family, ids)
        with ablate_heads(any_family, {layer: [head]}) as receipt:
            found = logits(any_family, ids)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        assert (found - untouched).abs().amax(dim=(1, 2)).min() > 1e-3, "every text of the batch must be changed"
        (change,) = receipt.changes
        assert (change.place, change.calls, change.relative) == (f"layer {layer}, head {head}", 1, 1.0)


def test_heads_of_several_layers_go_together(any_family: LoadedModel):
    """Two managers and one manager with both name the same intervention."""
    ids = tiny_models.texts(1)
    with ablate_heads(any_family, {0: [1, 2], 2: [0]}):
        together = logits(any_family, ids)
    with ablate_heads(any_family, {0: [1, 2]}), ablate_heads(any_family, {2: [0]}):
        nested = logits(any_family, ids)
    assert (together == nested).all()


def test_each_head_of_a_batch_is_the_single_ablation(any_family: LoadedModel):
    """Item i of the batch misses head heads[i] and nothing else."""
    ids = tiny_models.texts(1)
    heads = [2, 0, 3]
    with ablate_each_head(any_family, 1, heads):
        batch = logits(any_family, ids)
    for item, head in enumerate(heads):
        with ablate_heads(any_family, {1: [head]}):
            torch.testing.assert_close(batch[item], logits(any_family, ids)[0], rtol=1e-5, atol=1e-5)
    assert (batch[0] - batch[1]).abs().max() > 1e-3


def test_capture_measures_inside_an_ablation(any_family: LoadedModel):
    """The residual check and the comparison with an unhooked pass must hold under an intervention too."""
    ids = tiny_models.texts(2)
    plain = capture(any_family, ids)
    with ablate_heads(any_family, {0: [1]}):
        ablated = capture(any_family, ids)
    assert (plain.attention[:, 0] == ablated.attention[:, 0]).all(), "the ablated layer's own maps are not touched"
    assert np.abs(plain.attention[:, 1] - ablated.attention[:, 1]).max() > 1e-3


def test_no_hook_stays_behind(any_family: LoadedModel):
    """Whether the body ends well or raises."""
    ids = tiny_models.texts(1)
    before, untouched = hooks(any_family), logits(any_family, ids)
    with ablate_heads(any_family, {0: [0]}):
        logits(any_family, ids)
    with pytest.raises(ZeroDivisionError), ablate_each_head(any_family, 0, [0, 1]):
        raise ZeroDivisionError
    assert hooks(any_family) == before
    assert (logits(any_family, ids) == untouched).all()


def test_a_head_without_output_is_an_error(any_family: LoadedModel):
    """Zeroing what is zero would count as a head that nothing depends on."""
    once, again = ablate_heads(any_family, {1: [2]}), ablate_heads(any_family, {1: [2]})
    with once, pytest.raises(NoEffect, match="changed nothing at layer 1, head 2"), again:
        logits(any_family, tiny_models.texts(1))


def test_an_ablation_that_no_pass_reached_is_an_error(any_family: LoadedModel):
    """A measurement outside the `with` must not pass for an intervened one."""
    with pytest.raises(NoEffect, match="no pass reached layer 0, head 1"), ablate_heads(any_family, {0: [1]}):
        pass


@pytest.mark.parametrize(
    ("heads", "message"),
    [({3: [0]}, "no layer 3"), ({0: [4]}, r"heads \[4\]"), ({-1: [0]}, "no layer -1"), ({0: []}, "heads")],
)
def test_heads_that_are_not_there_are_refused(any_family: LoadedModel, heads: dict[int, list[int]], message: str):
    """A negative index would silently take a head from the end."""
    with pytest.raises(ResolventError, match=message):
        ablate_heads(any_family, heads)


def test_a_batch_of_texts_is_refused_where_heads_are_the_batch(any_family: LoadedModel):
    """Items would mix texts and heads."""
    with pytest.raises(ResolventError, match="batch of one text, found 2"), ablate_each_head(any_family, 0, [0, 1]):
        logits(any_family, tiny_models.texts(2))
