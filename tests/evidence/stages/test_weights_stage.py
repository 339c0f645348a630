"""The weights stage: features of every head's scoring operator, each in its own row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from model_calls import TinyStudy

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Result
from resolvent.evidence.stages.weights import COLUMNS, weight_features, weights_shard
from resolvent.evidence.views.tables import one_row_a_head
from resolvent.models.weights import query_key_weights
from resolvent.statistics.contest import WEIGHT_NON_NORMAL, WEIGHT_SPECTRAL

HEADS = 12


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyStudy:
    return TinyStudy(tmp_path_factory.mktemp("weights"))


def test_a_row_is_what_the_full_operator_of_that_head_says(tiny: TinyStudy) -> None:
    """Against M = W_Qᵀ W_K formed in full; a head mixed up would carry another's numbers."""
    table = one_row_a_head(tiny.subject, tiny.load(weights_shard(tiny.subject.name, HEADS)))
    assert set(table) == set(COLUMNS) == set(WEIGHT_SPECTRAL + WEIGHT_NON_NORMAL)
    for layer, head in ((0, 0), (1, 3), (2, 2)):
        query, key = (weights[head] for weights in query_key_weights(tiny.loaded, layer))
        matrix = query.T @ key
        values, sizes = np.linalg.eigvals(matrix), np.linalg.svd(matrix, compute_uv=False)
        at = 4 * layer + head
        energy = (np.abs(values) ** 2).sum()
        off_axis = (np.abs(values[np.abs(values.imag) > 1e-9 * np.abs(values).max()]) ** 2).sum()
        assert table["weight_spectral_radius"][at] == pytest.approx(np.abs(values).max(), rel=1e-6)
        assert table["weight_off_axis_energy"][at] == pytest.approx(off_axis / energy, rel=1e-6)
        departure = np.sqrt((sizes**2).sum() - energy) / np.linalg.norm(sizes)
        assert table["weight_departure"][at] == pytest.approx(departure, rel=1e-5)


def test_rows_in_any_order_find_their_heads(tiny: TinyStudy) -> None:
    """Views number heads layer by layer, whatever a table does."""
    result = tiny.load(weights_shard(tiny.subject.name, HEADS))
    order = np.random.default_rng(0).permutation(HEADS)
    shuffled = Result({name: values[order] for name, values in result.arrays.items()})
    for name, values in one_row_a_head(tiny.subject, result).items():
        np.testing.assert_array_equal(values, one_row_a_head(tiny.subject, shuffled)[name])


def test_a_missing_head_is_an_error(tiny: TinyStudy) -> None:
    """Columns of eleven heads would silently be given to the wrong ones."""
    result = tiny.load(weights_shard(tiny.subject.name, HEADS))
    eleven = Result({name: values[:-1] for name, values in result.arrays.items()})
    with pytest.raises(ResolventError, match="11 rows is not one row for each"):
        one_row_a_head(tiny.subject, eleven)


def test_no_text_is_read() -> None:
    """Weights are those of the checkpoint alone: the key must not depend on a corpus."""
    shard = weights_shard("tiny", HEADS)
    assert shard.inputs == ()
    assert dict(shard.params) == {"checkpoint": "final"}


def test_a_checkpoint_that_cannot_be_loaded_is_refused(tiny: TinyStudy) -> None:
    """The final weights must not pass for those of an earlier step."""
    shard = weights_shard(tiny.subject.name, HEADS, checkpoint="step512")
    call = replace(tiny.call(weights_shard(tiny.subject.name, HEADS)), params=shard.params)
    with pytest.raises(ResolventError, match="step512 cannot be loaded"):
        weight_features(call)
