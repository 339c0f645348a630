"""Sink scores: rows that see the position, and where the paper's wording is open."""

from __future__ import annotations

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.representations import bos_sink_scores, sink_rate, sink_scores


def causal_maps(n: int = 9, heads: int = 4) -> np.ndarray:
    weights = np.tril(np.random.default_rng(0).random((heads, n, n)))
    return weights / weights.sum(axis=-1, keepdims=True)


def test_scores_average_the_rows_that_see_the_position():
    """Rows before it are zero by the mask and would only dilute."""
    maps = causal_maps()
    np.testing.assert_allclose(sink_scores(maps, 3), maps[:, 3:, 3].mean(axis=1))
    np.testing.assert_allclose(sink_scores(maps, 3, q_min=6), maps[:, 6:, 3].mean(axis=1))
    np.testing.assert_allclose(sink_scores(maps, 3, q_min=1), sink_scores(maps, 3))
    np.testing.assert_allclose(
        sink_scores(np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]), (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4
    )
    for position, q_min in ((9, None), (-1, None), (0, 9)):
        with pytest.raises(ResolventError, match="the maps have 9 rows"):
            sink_scores(maps, position, q_min=q_min)


def test_the_score_of_bos_follows_from_its_mass():
    """The battery keeps the mean of column 0 over rows ≥ 1; row 0 adds a one."""
    maps = causal_maps()
    np.testing.assert_allclose(bos_sink_scores(maps[:, 1:, 0].mean(axis=1), 9), sink_scores(maps))


def test_the_two_readings_of_the_rate_differ_at_the_threshold():
    """A head that sits on it counts in one only."""
    scores = np.array([0.1, 0.3, 0.5, 0.9])
    assert sink_rate(scores, 0.3) == 0.5
    assert sink_rate(scores, 0.3, ">=") == 0.75
    assert np.isnan(sink_rate(scores[:0], 0.3))
    with pytest.raises(ResolventError, match="allowed: >, >="):
        sink_rate(scores, 0.3, "<")  # type: ignore[arg-type]
