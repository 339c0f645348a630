"""The within-text rank test: does the real value stand among its own null draws as one more draw would?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.exact_law import two_sided_p
from resolvent.statistics.samples import InvalidSample, paired_samples, proper_level

if TYPE_CHECKING:
    from jaxtyping import Float, Float64, Int8

TIE_BITS = 3e-6
"""Differences of log2 K up to this are ties: three times the certificate of K (1e-6, relative), in bits."""


@dataclass(frozen=True, eq=False)
class RankTest:
    """A two-sided rank test of many cases (heads) at once; every array has the shape of the cases."""

    p: Float64[np.ndarray, "*cases"]
    """Exact two-sided p-value."""
    statistic: Float64[np.ndarray, "*cases"]
    """The rank statistic less its mean under the null."""
    direction: Int8[np.ndarray, "*cases"]
    """Sign of the statistic: −1 the real values are low (suppressed), +1 high (amplified), 0 neither."""


def within_text_rank(
    real: Float[np.ndarray, texts * cases], draws: Float[np.ndarray, "draws texts *cases"], *, tie: float = TIE_BITS
) -> RankTest:
    """Exact test over texts that real is exchangeable with its d null draws of the same text.

    real and draws hold log2 K, in bits. Per text, a value's mid-rank among the d + 1 is
    1 + (number of others lower by more than `tie`) + ½ (number of others within `tie`), each pair compared on its own;
    S = Σ over texts of (mid-rank of real − (d + 2)/2). Under the null each of a text's d + 1 values is equally likely
    to be the real one, so S is a sum of independent uniform choices among each text's own d + 1 mid-ranks (their mean
    is (d + 2)/2 however the ties fall), and p = min(1, 2 · smaller tail) of that law. All ties give p = 1; the smallest
    p is `smallest_p(d, texts)`. Cases are tested one by one; their dependence is no concern of this test.

    Raises InvalidSample for shapes that don't fit and for values that are not finite.
    Source: the randomisation test of a rank sum, stratified by text (a van Elteren test with its exact law).
    """
    values = paired_samples(real, draws)
    size = len(values)
    centred = np.full(values.shape, -size + 1, dtype=np.int64)  # twice the mid-rank, less twice its mean d + 2
    for one in range(size):
        for other in range(one):
            difference = values[one] - values[other]
            above = (difference > tie).astype(np.int64) - (difference < -tie)
            centred[one] += 1 + above
            centred[other] += 1 - above
    observed = centred[0].sum(axis=0)
    shape = np.shape(real)[1:]
    return RankTest(
        p=two_sided_p(centred.transpose(1, 0, 2), observed).reshape(shape),
        statistic=(observed / 2).reshape(shape),
        direction=np.sign(observed).astype(np.int8).reshape(shape),
    )


def smallest_p(draws: int, texts: int) -> float:
    """The smallest p the test can return: 2 (d + 1)^−texts, where every real value is the lowest, or the highest."""
    return min(1.0, 2.0 * (draws + 1.0) ** -texts)


def texts_needed(draws: int, level: float) -> int:
    """The fewest texts with which `smallest_p(draws, texts)` is at most the level."""
    proper_level(level)
    if draws < 1:
        raise InvalidSample(f"draws is {draws}; without a null draw no number of texts reaches a level")
    texts = 1
    while smallest_p(draws, texts) > level:
        texts += 1
    return texts
