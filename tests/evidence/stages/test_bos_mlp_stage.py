"""The bos_mlp stage on a planted model: it finds the layer of emergence, ablates it, and draws controls by key."""

from __future__ import annotations

import json

import numpy as np
import pytest
from model_calls import TinyStudy
from planted_sink import EMERGES, save_planted

from resolvent.evidence.shards import Result
from resolvent.evidence.stages.bos_mlp import READ, Run, bos_mlp_shard
from resolvent.evidence.stages.common import blocks
from resolvent.keyed_random import generator
from resolvent.models.capture import capture
from resolvent.models.intervene.bos_mlp import scale_bos_mlp
from resolvent.operators import unpack_lower

LENGTH, LAYERS = 24, 5


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyStudy:
    return TinyStudy(tmp_path_factory.mktemp("planted"), texts=40, length=LENGTH, save=save_planted)


def run(tiny: TinyStudy, of: Run, texts: tuple[int, int] = (8, 16)) -> Result:
    (block,) = blocks(*texts)
    shard = bos_mlp_shard(
        tiny.subject.name,
        LAYERS * 4,
        block,
        selected_on=list(blocks(32, 40)),
        state="corpus",
        length=LENGTH,
        repeat=None,
        run=of,
    )
    return tiny.load(shard)


def test_the_planted_layer_is_ablated(tiny: TinyStudy):
    """Chosen on other texts; heads and boundaries are those of a capture within that ablation."""
    result = run(tiny, Run(3.0, 1.5))
    assert json.loads(result.metadata["layers"]) == [EMERGES]
    with scale_bos_mlp(tiny.loaded, [EMERGES]):
        expected = capture(tiny.loaded, tiny.token_ids[8:16], boundaries=True)
    table = result.arrays
    assert table["text"].tolist() == np.repeat(np.arange(8, 16), LAYERS * 4).tolist()
    maps = unpack_lower(expected.attention, LENGTH)
    np.testing.assert_allclose(table["bos_mass"].reshape(8, LAYERS, 4), maps[..., 1:, 0].mean(axis=-1), rtol=1e-5)
    norms = np.linalg.norm(expected.boundaries.astype(np.float64), axis=-1)
    read = {name: table[name].reshape(8, LAYERS, 4) for name in READ}
    for head in range(4):
        np.testing.assert_allclose(read["bos_norm"][..., head], norms[:, :-1, 0], rtol=1e-6)
        np.testing.assert_allclose(read["largest_norm"][..., head], norms[:, :-1, 1:].max(axis=-1), rtol=1e-6)


def test_a_dose_leaves_a_part(tiny: TinyStudy):
    """Scale 0.5 halves the massive norm at the boundary that the next layer reads."""
    full = capture(tiny.loaded, tiny.token_ids[8:16], boundaries=True).boundaries
    half = run(tiny, Run(3.0, 1.5, scale=0.5)).arrays
    norm = half["bos_norm"].reshape(8, LAYERS, 4)[:, EMERGES + 1, 0]
    np.testing.assert_allclose(norm, np.linalg.norm(full[:, EMERGES + 1, 0], axis=-1) / 2, rtol=1e-2)


def test_controls_are_drawn_under_the_registered_key(tiny: TinyStudy):
    """controls | subject | draw, as many as emerge, from the layers below the factor in ascending order."""
    arrays = [tiny.load(shard) for shard in _selecting(tiny)]
    factors = np.median(arrays[0].arrays["bos_norm"][:, 1:] / arrays[0].arrays["bos_norm_without_mlp"], axis=0)
    ordinary = np.flatnonzero(factors < 1.5)
    assert EMERGES not in ordinary
    for draw in range(3):
        expected = generator(7, "controls", tiny.subject.name, draw).choice(ordinary, size=1, replace=False)
        assert json.loads(run(tiny, Run(3.0, 1.5, control=draw)).metadata["layers"]) == expected.tolist()


@pytest.mark.parametrize(
    "nothing", [Run(1e9, 1.5), Run(3.0, 0.0, control=0)], ids=["no layer emerges", "no layer is left for a control"]
)
def test_where_there_is_nothing_to_ablate_the_table_is_empty(tiny: TinyStudy, nothing: Run):
    """The claim is inestimable then; the shard must not fail, nor measure the untouched model."""
    result = run(tiny, nothing)
    assert len(result.arrays["text"]) == 0
    assert json.loads(result.metadata["layers"]) == []


def _selecting(tiny: TinyStudy):
    from resolvent.evidence.stages.residual import residual_shard

    return [
        residual_shard(tiny.subject.name, block, state="corpus", length=LENGTH, repeat=None) for block in blocks(32, 40)
    ]
