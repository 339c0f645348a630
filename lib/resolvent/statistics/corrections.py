"""Corrections for many tests at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.samples import p_values, proper_level

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def benjamini_hochberg(p: Float[np.ndarray, "*tests"], level: float) -> Bool[np.ndarray, "*tests"]:
    """Which tests are rejected with the false discovery rate held at the level (independent or positively dependent p).

    All of p is one family, whatever its shape. Raises InvalidSample for a p outside [0, 1] or a level outside (0, 1).
    Source: Benjamini and Hochberg (1995), J. R. Stat. Soc. B 57, 289–300; statsmodels' `fdr_bh`.
    """
    return _rejected(p, level, "fdr_bh")


def holm(p: Float[np.ndarray, "*tests"], level: float) -> Bool[np.ndarray, "*tests"]:
    """Which tests are rejected with the chance of any false rejection held at the level (any dependence).

    All of p is one family, whatever its shape. Raises InvalidSample for a p outside [0, 1] or a level outside (0, 1).
    Source: Holm (1979), Scand. J. Stat. 6, 65–70; statsmodels' `holm`.
    """
    return _rejected(p, level, "holm")


def _rejected(p: np.ndarray, level: float, method: str) -> np.ndarray:
    p = p_values(p)
    proper_level(level)
    if p.size == 0:
        return np.zeros(p.shape, dtype=bool)
    from statsmodels.stats.multitest import multipletests

    return multipletests(p.ravel(), alpha=level, method=method)[0].reshape(p.shape)
