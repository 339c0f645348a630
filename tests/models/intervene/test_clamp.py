"""Clamping equals a pass written out by hand whose stream is set at every boundary."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
import tiny_models
import torch

from resolvent.errors import ResolventError
from resolvent.models.capture import capture
from resolvent.models.intervene.clamp import clamp
from resolvent.models.intervene.heads import ablate_heads
from resolvent.models.intervene.receipts import NoEffect
from resolvent.models.load import LoadedModel

DIMS = [5, 30, 0]


@pytest.mark.parametrize("positions", ["all", "bos"])
@pytest.mark.parametrize("values", [0.0, "table"])
def test_clamp_is_that_of_a_pass_by_hand(any_family: LoadedModel, positions: str, values: object):
    """Every boundary, every text of the batch; zero or a value a boundary and dim; all positions or BOS."""
    ids = tiny_models.texts()
    table = np.random.default_rng(0).standard_normal((any_family.layers + 1, 3)).astype(np.float32)
    if values == 0.0:
        table[:] = 0

    def held(boundary: int, stream: torch.Tensor) -> torch.Tensor:
        stream = stream.clone()
        stop = None if positions == "all" else 1
        for column, dim in enumerate(DIMS):
            stream[:, :stop, dim] = float(table[boundary, column])
        return stream

    streams, expected = by_hand.forward(any_family, ids, boundary=held)
    with clamp(any_family, DIMS, 0.0 if values == 0.0 else table, positions=positions) as receipt:  # type: ignore[arg-type]
        found = by_hand.logits(any_family, ids)
        captured = capture(any_family, ids, boundaries=True)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(captured.boundaries, torch.stack(streams, 1).numpy(), rtol=1e-3, atol=1e-3)
    stop = None if positions == "all" else 1
    for boundary in range(any_family.layers + 1):
        np.testing.assert_allclose(
            captured.boundaries[:, boundary, :stop][..., DIMS],
            np.broadcast_to(table[boundary], (3, ids.shape[1] if stop is None else 1, 3)),
        )
    untouched = by_hand.logits(any_family, ids)
    assert (found - untouched).abs().amax(dim=(1, 2)).min() > 1e-3
    assert [change.place for change in receipt.changes] == [f"boundary {b}" for b in range(any_family.layers + 1)]
    first = by_hand.forward(any_family, ids)[0][0]
    assert receipt.changes[0].largest == pytest.approx(float((held(0, first) - first).abs().max()), rel=1e-6)


def test_a_pass_by_hand_is_the_models_own(any_family: LoadedModel):
    """Else equality with it would prove nothing."""
    ids = tiny_models.texts()
    torch.testing.assert_close(
        by_hand.forward(any_family, ids)[1], by_hand.logits(any_family, ids), rtol=1e-5, atol=1e-5
    )


def test_clamp_and_ablation_compose(any_family: LoadedModel):
    """In either order: they act at different places."""
    ids = tiny_models.texts(1)
    with clamp(any_family, DIMS), ablate_heads(any_family, {1: [2]}):
        one = by_hand.logits(any_family, ids)
    with ablate_heads(any_family, {1: [2]}), clamp(any_family, DIMS):
        other = by_hand.logits(any_family, ids)
    with by_hand.zeroed_head(any_family, 1, 2), clamp(any_family, DIMS):
        expected = by_hand.logits(any_family, ids)
    assert (one == other).all()
    torch.testing.assert_close(one, expected, rtol=1e-5, atol=1e-5)


def test_no_hook_stays_behind(any_family: LoadedModel):
    """Also where the body raises."""
    before = by_hand.hooks(any_family)
    with pytest.raises(ZeroDivisionError), clamp(any_family, DIMS):
        raise ZeroDivisionError
    with clamp(any_family, DIMS):
        by_hand.logits(any_family, tiny_models.texts(1))
    assert by_hand.hooks(any_family) == before


def test_a_clamp_that_changes_nothing_is_an_error(any_family: LoadedModel):
    """The stream held the value already: whatever is measured is the untouched model."""
    once, again = clamp(any_family, DIMS), clamp(any_family, DIMS)
    with once, pytest.raises(NoEffect, match="changed nothing at boundary 0, boundary 1"), again:
        by_hand.logits(any_family, tiny_models.texts(1))


@pytest.mark.parametrize(
    ("dims", "values", "message"),
    [
        ([32], 0.0, "0 to 31"),
        ([-1], 0.0, "0 to 31"),
        ([], 0.0, "dims"),
        ([3, 3], 0.0, "distinct"),
        ([3], np.zeros(4), r"shape \(4,\)"),
        ([3], np.nan, "finite"),
    ],
)
def test_what_does_not_fit_is_refused(any_family: LoadedModel, dims: list[int], values: object, message: str):
    """Numpy would broadcast the one and wrap the other around."""
    with pytest.raises(ResolventError, match=message):
        clamp(any_family, dims, values)  # type: ignore[arg-type]
    with pytest.raises(ResolventError, match="allowed: all, bos"):
        clamp(any_family, [1], positions="last")  # type: ignore[arg-type]
