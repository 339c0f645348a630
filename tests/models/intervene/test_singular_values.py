"""Edited spectra: new singular values, the token mean and the singular vectors of before."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
import tiny_models
import torch

from resolvent.errors import ResolventError
from resolvent.models.capture import capture
from resolvent.models.intervene.receipts import NoEffect
from resolvent.models.intervene.singular_values import edit_singular_values
from resolvent.models.load import LoadedModel


def halved_first(sigma: np.ndarray) -> np.ndarray:
    sigma[0] /= 2
    return sigma


def test_the_edit_is_that_of_a_pass_by_hand(any_family: LoadedModel):
    """X = mean + U diag(edited) Vᵀ, text by text, with numpy's own decomposition."""
    ids = tiny_models.texts()

    def edited(boundary: int, stream: torch.Tensor) -> torch.Tensor:
        if boundary != 2:
            return stream
        parts = []
        for X in stream.double().numpy():
            mean = X.mean(axis=0)
            U, sigma, Vt = np.linalg.svd(X - mean, full_matrices=False)
            sigma[0] /= 2
            parts.append(mean + (U * sigma) @ Vt)
        return torch.as_tensor(np.stack(parts), dtype=stream.dtype)

    _, expected = by_hand.forward(any_family, ids, boundary=edited)
    with edit_singular_values(any_family, 1, halved_first) as receipt:
        found = by_hand.logits(any_family, ids)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert (found - by_hand.logits(any_family, ids)).abs().amax(dim=(1, 2)).min() > 1e-3
    assert [change.place for change in receipt.changes] == ["boundary 2"]


def test_mean_and_subspaces_stay(any_family: LoadedModel):
    """Even for an edit that gives every direction the same weight, zero singular values included."""
    ids = tiny_models.texts()
    plain = capture(any_family, ids, boundaries=True).boundaries[:, 2].astype(np.float64)
    with edit_singular_values(any_family, 1, lambda sigma: np.arange(len(sigma), 0, -1) + 0.5):
        edited = capture(any_family, ids, boundaries=True).boundaries[:, 2].astype(np.float64)
    for X, Y in zip(plain, edited, strict=True):
        np.testing.assert_allclose(Y.mean(axis=0), X.mean(axis=0), atol=1e-5)
        U, _, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
        rank = len(X) - 1
        inside = (U.T @ (Y - Y.mean(axis=0)) @ Vt.T)[:rank, :rank]
        np.testing.assert_allclose(np.diag(inside), np.arange(rank, 0, -1) + 0.5, rtol=1e-4)
        np.testing.assert_allclose(inside - np.diag(np.diag(inside)), 0, atol=1e-4)


def test_an_edit_that_changes_nothing_is_an_error(any_family: LoadedModel):
    """The identity is no intervention."""
    with pytest.raises(NoEffect, match="boundary 1"), edit_singular_values(any_family, 0, lambda sigma: sigma):
        by_hand.logits(any_family, tiny_models.texts(1))


@pytest.mark.parametrize("bad", [lambda s: s[:-1], lambda s: -s, lambda s: s * np.inf])
def test_impossible_spectra_are_refused(any_family: LoadedModel, bad: object):
    """A negative singular value would flip a singular vector; a missing one shift the others."""
    before = by_hand.hooks(any_family)
    refused = pytest.raises(ResolventError, match="11 finite values of at least 0")
    with refused, edit_singular_values(any_family, 0, bad):  # type: ignore[arg-type]
        by_hand.logits(any_family, tiny_models.texts(1))
    assert by_hand.hooks(any_family) == before


def test_a_layer_that_is_not_there_is_refused(any_family: LoadedModel):
    """The last boundary is that of the last layer."""
    for layer in (-1, 3):
        with pytest.raises(ResolventError, match=f"no layer {layer}"):
            edit_singular_values(any_family, layer, halved_first)
