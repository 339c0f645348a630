"""In bfloat16 every intervention keeps the dtype, acts, and passes the preflight of a capture."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
import tiny_models

from resolvent.models.capture import capture
from resolvent.models.criticality import head_losses
from resolvent.models.intervene.bos_mlp import scale_bos_mlp
from resolvent.models.intervene.clamp import clamp
from resolvent.models.intervene.heads import ablate_heads
from resolvent.models.intervene.singular_values import edit_singular_values
from resolvent.models.load import LoadedModel

INTERVENTIONS = {
    "clamp": lambda loaded: clamp(loaded, [3, 4], 0.1),
    "bos_mlp": lambda loaded: scale_bos_mlp(loaded, [0, 1], 0.3),
    "heads": lambda loaded: ablate_heads(loaded, {0: [1]}),
    "singular_values": lambda loaded: edit_singular_values(loaded, 0, lambda sigma: sigma / 2),
}


@pytest.fixture(scope="module")
def half(any_family: LoadedModel) -> LoadedModel:
    """The model of the family in bfloat16, as it is loaded on CUDA."""
    import torch

    return dataclasses.replace(any_family, model=copy.deepcopy(any_family.model).to(torch.bfloat16), dtype="bfloat16")


@pytest.mark.parametrize("name", INTERVENTIONS)
def test_interventions_run_in_bfloat16(half: LoadedModel, name: str):
    """A float32 stream in the middle of a bfloat16 model would raise, or silently run in another precision."""
    ids = tiny_models.texts(2)
    plain = capture(half, ids, boundaries=True)
    with INTERVENTIONS[name](half) as receipt:
        changed = capture(half, ids, boundaries=True)
    assert all(change.largest > 0 for change in receipt.changes)
    assert np.abs(changed.boundaries[:, -1] - plain.boundaries[:, -1]).max() > 0


def test_losses_without_a_head_are_near_those_of_float32(any_family: LoadedModel, half: LoadedModel):
    """Rounding to eight bits moves a loss by a percent, a lost head or a wrong layer by more."""
    ids = tiny_models.texts(1)[0]
    expected, found = (head_losses(loaded, ids, [0, 1, 2]) for loaded in (any_family, half))
    np.testing.assert_allclose(found.without, expected.without, rtol=0.1)
    assert np.corrcoef(found.without.reshape(-1), expected.without.reshape(-1))[0, 1] > 0.9
