"""The signed census: which heads lie significantly below their nulls, and which above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.corrections import benjamini_hochberg, holm
from resolvent.statistics.within_text_rank import RankTest

if TYPE_CHECKING:
    from jaxtyping import Bool


@dataclass(frozen=True, eq=False)
class SignedClasses:
    """The class of each head; one that is in neither array is neither. No head is in both."""

    suppressed: Bool[np.ndarray, "*heads"]
    """Below its nulls: rejected by Benjamini–Hochberg over all heads, direction −1."""
    amplified: Bool[np.ndarray, "*heads"]
    """Above its nulls: rejected by Holm over all heads, direction +1."""


def signed_classes(test: RankTest, level: float) -> SignedClasses:
    """Suppressed and amplified heads of one subject, from the two-sided tests of *all* of its heads.

    The corrections differ on purpose. The suppressed are many and are reported as a fraction, so the rate of false
    ones is held at the level. The amplified are few, mostly beside many suppressed ones, and are counted one by one;
    Benjamini–Hochberg would then let false ones in (one in twenty of *all* rejections), so Holm holds the chance of
    a single false one at the level. Raises InvalidSample for a level outside (0, 1).
    """
    return SignedClasses(
        suppressed=benjamini_hochberg(test.p, level) & (test.direction < 0),
        amplified=holm(test.p, level) & (test.direction > 0),
    )
