"""Does a prediction find the few heads that matter most?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float

TOP = 5
"""Heads to be found (transient-reserves, section 8)."""


def top_retrieval_auroc(
    prediction: Float[np.ndarray, " heads"], target: Float[np.ndarray, " heads"], top: int = TOP
) -> float:
    """Chance that one of the `top` heads of the largest target is predicted above one of the others; a tie counts ½.

    Heads tied with the last of them are among the top too (ours). NaN where that leaves no others.
    """
    if len(target) <= top:
        return math.nan
    among = target >= np.sort(target)[-top]
    if among.all():
        return math.nan
    difference = prediction[among][:, np.newaxis] - prediction[~among]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())
