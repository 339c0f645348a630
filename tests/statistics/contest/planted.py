"""Columns and targets of which it is known who carries what."""

from __future__ import annotations

import numpy as np

from resolvent.statistics.contest import (
    RESOLVENT,
    SPECTRAL_AND_CLASSICAL,
    ContestGenerators,
    ContestResult,
    ContestRule,
    contest,
)

LAYERS, HEADS = 12, 8
LAYER = np.repeat(np.arange(LAYERS), HEADS)

RELEVANT = 0.02
"""The margin of the claims' criterion `relevance`."""


def quick_rule(**changes) -> ContestRule:
    """The claims' rule with 2 repeats and 500 draws."""
    return ContestRule(**{"target": "persistence", "repeats": 2, "draws": 500, **changes})


def noise_columns(rng: np.random.Generator, layer: np.ndarray = LAYER, *, of_layer: float = 0.0) -> dict:
    """Every feature independent noise of unit variance, a share `of_layer` of which its heads' layer decides."""
    names = SPECTRAL_AND_CLASSICAL + RESOLVENT
    effects = rng.standard_normal((layer.max() + 1, len(names)))[layer]
    values = np.sqrt(of_layer) * effects + np.sqrt(1 - of_layer) * rng.standard_normal(effects.shape)
    return dict(zip(names, values.T, strict=True))


def supported(result: ContestResult) -> bool:
    """The three criteria of the claim files, all of which it takes."""
    return (
        result.decisive_gain.low > 0
        and result.decisive_gain.value >= RELEVANT
        and result.decisive_gain_unseen_layers.low > 0
    )


def refuted(result: ContestResult) -> bool:
    """Any criterion's refutation suffices."""
    return (
        result.decisive_gain.high <= 0
        or result.decisive_gain.high < RELEVANT
        or result.decisive_gain_unseen_layers.high <= 0
    )


def simulated_null(seed: int, rule: ContestRule, *, layer_effect: bool) -> ContestResult:
    """A contest of 96 heads whose target no feature shares.

    With a layer effect half of the target's variance, and half of every feature's, is decided by the layer, each
    independently of all others: 8 heads tell a model which layer they are in, and so what its target is.
    """
    rng = np.random.default_rng([31, seed, int(layer_effect)])
    of_layer = 0.5 * layer_effect
    columns = noise_columns(rng, of_layer=of_layer)
    target = np.sqrt(of_layer) * rng.standard_normal(LAYERS)[LAYER] + np.sqrt(1 - of_layer) * rng.standard_normal(
        len(LAYER)
    )
    return contest(columns, target, LAYER, rule, ContestGenerators(seed, "null", "simulated"))
