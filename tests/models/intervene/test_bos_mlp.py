"""The MLP at BOS removed equals out = x + attention + MLP written out by hand without that term."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
import tiny_models
import torch

from resolvent.errors import ResolventError
from resolvent.models.capture import capture
from resolvent.models.intervene.bos_mlp import scale_bos_mlp
from resolvent.models.intervene.clamp import clamp
from resolvent.models.intervene.receipts import NoEffect
from resolvent.models.load import LoadedModel

LAYERS = [0, 2]


@pytest.mark.parametrize("scale", [0.0, 0.25])
def test_the_term_is_scaled_at_bos_alone(any_family: LoadedModel, scale: float):
    """Each family's own residual algebra, the term as the block adds it."""
    ids = tiny_models.texts()

    def scaled(layer: int, term: torch.Tensor) -> torch.Tensor:
        if layer not in LAYERS:
            return term
        term = term.clone()
        term[:, 0] *= scale
        return term

    streams, expected = by_hand.forward(any_family, ids, mlp=scaled)
    with scale_bos_mlp(any_family, LAYERS, scale) as receipt:
        found = by_hand.logits(any_family, ids)
        captured = capture(any_family, ids, boundaries=True)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(captured.boundaries, torch.stack(streams, 1).numpy(), rtol=1e-3, atol=1e-3)
    untouched = by_hand.logits(any_family, ids)
    assert (found - untouched).abs().amax(dim=(1, 2)).min() > 1e-3
    assert [change.place for change in receipt.changes] == ["layer 0", "layer 2"]
    for change in receipt.changes:
        assert change.relative == pytest.approx(1 - scale, rel=1e-6)


def test_removed_terms_are_seen_as_zero(any_family: LoadedModel):
    """The captured MLP term is the one that the block added."""
    with scale_bos_mlp(any_family, [1]):
        captured = capture(any_family, tiny_models.texts(), boundaries=True)
    assert not captured.mlp_at_bos[:, 1].any()
    assert captured.mlp_at_bos[:, [0, 2]].any(axis=-1).all()


def test_other_positions_change_only_through_attention(any_family: LoadedModel):
    """At the boundary right after the block only BOS may differ."""
    ids = tiny_models.texts()
    plain = capture(any_family, ids, boundaries=True).boundaries
    with scale_bos_mlp(any_family, [1]):
        ablated = capture(any_family, ids, boundaries=True).boundaries
    assert (plain[:, :2] == ablated[:, :2]).all()
    assert (plain[:, 2, 1:] == ablated[:, 2, 1:]).all()
    assert np.abs(plain[:, 2, 0] - ablated[:, 2, 0]).max(axis=-1).min() > 1e-3
    assert np.abs(plain[:, 3, 1:] - ablated[:, 3, 1:]).max() > 1e-4


def test_it_composes_with_a_clamp(any_family: LoadedModel):
    """Both at once, as the pass by hand does both."""
    ids = tiny_models.texts()

    def held(_boundary: int, stream: torch.Tensor) -> torch.Tensor:
        stream = stream.clone()
        stream[..., 4] = 0
        return stream

    def removed(layer: int, term: torch.Tensor) -> torch.Tensor:
        term = term.clone()
        term[:, 0] *= layer != 1
        return term

    expected = by_hand.forward(any_family, ids, boundary=held, mlp=removed)[1]
    with clamp(any_family, [4]), scale_bos_mlp(any_family, [1]):
        found = by_hand.logits(any_family, ids)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_no_hook_stays_behind(any_family: LoadedModel):
    """Also where the body raises."""
    before = by_hand.hooks(any_family)
    with pytest.raises(ZeroDivisionError), scale_bos_mlp(any_family, LAYERS):
        raise ZeroDivisionError
    assert by_hand.hooks(any_family) == before


def test_a_term_that_is_zero_already_is_an_error(any_family: LoadedModel):
    """Nothing is removed the second time."""
    once, again = scale_bos_mlp(any_family, [1]), scale_bos_mlp(any_family, [1])
    with once, pytest.raises(NoEffect, match="changed nothing at layer 1"), again:
        by_hand.logits(any_family, tiny_models.texts(1))


@pytest.mark.parametrize(("layers", "scale"), [([3], 0.0), ([-1], 0.0), ([], 0.0), ([0], 1.0), ([0], -0.1)])
def test_what_can_not_be_is_refused(any_family: LoadedModel, layers: list[int], scale: float):
    """Scale 1 would be the untouched model under another name."""
    with pytest.raises(ResolventError, match=r"0 to 2|below 1"):
        scale_bos_mlp(any_family, layers, scale)
