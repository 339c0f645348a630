"""The exact law of a sum of independent choices among equally likely integer points: what both rank tests need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def two_sided_p(
    points: Int[np.ndarray, "texts choices cases"], observed: Int[np.ndarray, " cases"]
) -> Float[np.ndarray, " cases"]:
    """min(1, 2 · smaller tail) of each case's observed sum, both tails counting the observed value itself.

    Under the null a case's sum takes, at each text independently, each of that text's `choices` points with the same
    probability. The law is the convolution over texts, by non-negative additions only, so that the smallest tails keep
    their relative accuracy (about texts · 1e-16). Cases that have the same points in another order of texts share one
    law, so p does not depend on the order of the texts, to the bit.
    """
    texts, choices, cases = points.shape
    rows = np.sort(points, axis=1).transpose(2, 0, 1).reshape(cases * texts, choices)
    patterns, pattern_of = np.unique(rows, axis=0, return_inverse=True)
    laws, law_of = np.unique(np.sort(pattern_of.reshape(cases, texts), axis=1), axis=0, return_inverse=True)
    law_of = law_of.reshape(cases)

    steps = np.abs(patterns).max(axis=1)[laws].max(axis=0)
    centre = int(steps.sum())
    law = np.zeros((len(laws), 2 * centre + 1))
    law[:, centre] = 1.0
    reached = 0
    for text, step in enumerate(steps):
        before = law[:, centre - reached : centre + reached + 1].copy()
        law[:] = 0.0
        choice_points = patterns[laws[:, text]]
        for point in np.unique(choice_points):
            weight = (choice_points == point).sum(axis=1, keepdims=True) / choices
            those = np.flatnonzero(weight)  # with many ties most laws lack most points
            start = centre - reached + point
            law[those, start : start + 2 * reached + 1] += weight[those] * before[those]
        reached += int(step)

    at_most = np.cumsum(law, axis=1)[law_of, centre + observed]
    at_least = np.cumsum(law[:, ::-1], axis=1)[law_of, centre - observed]
    return np.minimum(1.0, 2.0 * np.minimum(at_most, at_least))
