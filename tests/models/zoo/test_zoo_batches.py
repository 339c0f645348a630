"""Batches: a function of recipe, corpus and step; the share and the shape of repeated rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from zoo_builders import recipe

from resolvent.models.zoo.batches import LONGEST_SEGMENT, SHORTEST_SEGMENT, Batches
from resolvent.models.zoo.families import BOS_ID, CONTEXT, VOCABULARY

ROWS = np.random.default_rng(0).integers(1, VOCABULARY, (50, CONTEXT - 1)).astype(np.uint16)
KNOWN = {row.tobytes() for row in ROWS.astype(np.int64)}


def period(row: np.ndarray) -> int | None:
    """The shortest segment length at which a row repeats."""
    return next(
        (k for k in range(1, LONGEST_SEGMENT + 1) if np.array_equal(row[k:], row[:-k])),
        None,
    )


def test_a_batch_depends_on_the_step_alone() -> None:
    """What was drawn before must not matter, or a resumed run would differ."""
    straight, jumping = Batches(recipe(), ROWS), Batches(recipe(), ROWS)
    batches = [straight.batch(step) for step in range(30)]
    for step in (29, 3, 17, 0):
        np.testing.assert_array_equal(jumping.batch(step), batches[step])


def test_rows_begin_with_bos_and_hold_no_other() -> None:
    """A doubled BOS is what the preflight refuses."""
    found = np.concatenate([Batches(recipe(), ROWS).batch(step) for step in range(20)])
    assert found.shape == (80, CONTEXT)
    assert (found[:, 0] == BOS_ID).all()
    assert (found[:, 1:] != BOS_ID).all()
    assert found.max() < VOCABULARY


def test_an_epoch_shows_every_row_once_in_another_order_each_time() -> None:
    """No row is seen twice before all are seen once."""
    plain = replace(recipe(), repeated_share=0.0, batch=5)
    batches = Batches(plain, ROWS)
    epochs = [np.concatenate([batches.batch(10 * epoch + step) for step in range(10)])[:, 1:] for epoch in (0, 1)]
    for epoch in epochs:
        assert {row.tobytes() for row in epoch} == KNOWN
    assert not np.array_equal(*epochs)


def test_the_share_of_repeated_rows_is_the_recipes() -> None:
    """Within four standard errors; segments of 8 to 63 tokens, half of them from the corpus."""
    batches = Batches(recipe(repeated_share=0.15, batch=50), ROWS)
    rows = np.concatenate([batches.batch(step)[:, 1:] for step in range(40)])
    repeated = [row for row in rows if row.tobytes() not in KNOWN]
    assert abs(len(repeated) / len(rows) - 0.15) < 4 * np.sqrt(0.15 * 0.85 / len(rows))
    periods = [period(row) for row in repeated]
    assert all(found is not None and SHORTEST_SEGMENT <= found <= LONGEST_SEGMENT for found in periods)
    text = ROWS.astype(np.int64)
    windows = {row[i : i + 8].tobytes() for row in text for i in range(len(row) - 7)}
    from_corpus = np.mean([row[:8].tobytes() in windows for row in repeated])
    assert abs(from_corpus - 0.5) < 4 * np.sqrt(0.25 / len(repeated))
