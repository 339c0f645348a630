"""Wilcoxon's signed-rank test of the real values against one null draw a text: the published census's reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.exact_law import two_sided_p
from resolvent.statistics.samples import paired_samples
from resolvent.statistics.within_text_rank import TIE_BITS, RankTest, smallest_p

if TYPE_CHECKING:
    from jaxtyping import Float


def wilcoxon_one_draw(
    real: Float[np.ndarray, texts * cases], draw: Float[np.ndarray, texts * cases], *, tie: float = TIE_BITS
) -> RankTest:
    """Two-sided signed-rank test over texts of real − draw, with zeros by Pratt and its exact law.

    Differences within `tie` are zeros: they are ranked (as the smallest) and then dropped. Equal magnitudes share their
    mean rank. The statistic is Σ sign · rank / 2, that is W⁺ less its mean. Given the magnitudes each sign is a fair
    coin, and p = min(1, 2 · smaller tail) of exactly that law, with zeros and equal magnitudes too, where common
    implementations fall back on a normal approximation that is too small for few non-zero differences (five of
    eight texts, all of one sign: .030 for an exact .0625). All zeros give p = 1.

    It needs one draw: real minus the *mean* of several draws is not symmetric under the null where the null is skewed,
    so a signed-rank test of it is not valid and is not offered.

    Raises InvalidSample for shapes that don't fit and for values that are not finite.
    Source: Pratt (1959), J. Amer. Statist. Assoc. 54, 655–667.
    """
    values = paired_samples(real, np.asarray(draw)[np.newaxis])
    difference = values[0] - values[1]
    difference[np.abs(difference) <= tie] = 0.0
    size = np.abs(difference)
    twice_rank = np.ones(size.shape, dtype=np.int64)
    for other in size:  # itself included: 1 + 2 · (smaller ones) + (equal ones, itself among them)
        twice_rank += (size > other).astype(np.int64) + (size >= other)
    points = np.where(difference == 0, 0, twice_rank)
    observed = (np.sign(difference).astype(np.int64) * points).sum(axis=0)
    shape = np.shape(real)[1:]
    return RankTest(
        p=two_sided_p(np.stack([points, -points], axis=1), observed).reshape(shape),
        statistic=(observed / 4).reshape(shape),
        direction=np.sign(observed).astype(np.int8).reshape(shape),
    )


def smallest_p_wilcoxon(texts: int) -> float:
    """The smallest p the test can return: 2^(1 − texts), that of `within_text_rank` with one draw."""
    return smallest_p(1, texts)
