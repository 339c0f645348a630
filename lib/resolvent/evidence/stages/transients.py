"""The deviation at depth n, and the dominant mode where a head grows to an interior peak."""

from __future__ import annotations

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.battery import battery_shard
from resolvent.evidence.stages.common import FINAL, Block, HeadTable, captured_maps

_SOURCES = (
    "resolvent.evidence.stages.transients",
    "resolvent.evidence.stages.common",
    "resolvent.operators",
)

RESIDUALS = Stage(
    name="residuals",
    version=1,
    function="resolvent.evidence.stages.transients:residual_block",
    output="table",
    sources=_SOURCES,
    packages=("numpy", "numba", "scipy"),
)

MODES = Stage(
    name="modes",
    version=1,
    function="resolvent.evidence.stages.transients:mode_block",
    output="table",
    sources=_SOURCES,
    packages=("numpy", "numba", "scipy"),
)


def residual_shard(
    subject: str, heads: int, block: Block, *, state: str, length: int, repeat: int | None, checkpoint: str = FINAL
) -> Shard:
    """The size of the deviation after n steps, for every head of a block of texts."""
    real = battery_shard(subject, heads, block, state=state, length=length, repeat=repeat, checkpoint=checkpoint)
    return Shard(RESIDUALS, subject, real.label, real.params, real.inputs, real.matrices)


def mode_shard(
    subject: str, heads: int, block: Block, *, state: str, length: int, repeat: int | None, checkpoint: str = FINAL
) -> Shard:
    """The dominant mode of every head that peaks at a finite k of 2 or more."""
    real = battery_shard(subject, heads, block, state=state, length=length, repeat=repeat, checkpoint=checkpoint)
    return Shard(MODES, subject, real.label, real.params, (*real.inputs, real), real.matrices)


def residual_block(call: Call) -> Result:
    """A row a text, layer and head: log10 ||A_dev^n|| and log10 ||A_dev|| (n = length; -inf for an exact zero)."""
    from resolvent.operators import deviation_power_norms

    length = int(call.params["length"])
    table = HeadTable()
    for text in captured_maps(call):
        norms = np.array(
            [[deviation_power_norms(matrix, (1, length)) for matrix in layer] for layer in text.maps], dtype=np.float64
        )
        table.add(text, {"log10_norm": norms[..., 0], "log10_residual": norms[..., 1]})
    return table.result()


def mode_block(call: Call) -> Result:
    """A row a text, layer and head: shares of the top singular pair (u, v) of A_dev^k_sup.

    `early_contrast_share` is (v . (e0 - e1)/sqrt 2)^2, `flat_write_share` is (|u| . 1)^2 / n; NaN where k_sup is 1 or
    infinite.
    """
    from resolvent.operators import dominant_mode

    table = HeadTable()
    battery = call.inputs[1].arrays
    for text in captured_maps(call):
        rows = battery["text"] == text.index
        peaks = np.empty(text.maps.shape[:2])
        peaks[battery["layer"][rows], battery["head"][rows]] = battery["k_sup"][rows]
        contrast, flat = np.full_like(peaks, np.nan), np.full_like(peaks, np.nan)
        for at in np.argwhere(np.isfinite(peaks) & (peaks >= 2)):
            layer, head = at
            u, v, _ = dominant_mode(text.maps[layer, head], int(peaks[layer, head]))
            contrast[layer, head] = (v[0] - v[1]) ** 2 / 2
            flat[layer, head] = np.abs(u).sum() ** 2 / len(u)
        table.add(text, {"early_contrast_share": contrast, "flat_write_share": flat})
    return table.result()
