"""What is fitted to the features on a training part: finite values for infinite ones, then one of two scales.

Every function takes many splits at once: `train` (splits, heads) marks the heads of each training part, and nothing
but those heads enters what is fitted. All heads, tested ones too, are then mapped. `values` (splits, heads, features)
may have one split for all where nothing in it differs between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def finite_values(
    values: Float[np.ndarray, "heads features"], train: Bool[np.ndarray, "splits heads"]
) -> Float[np.ndarray, "splits heads features"]:
    """The features with infinities replaced: +inf by the training part's largest finite value, −inf by its smallest.

    0 for both where a training part has no finite value. Without infinities the result has one split for all.
    """
    if np.isfinite(values).all():
        return values[np.newaxis]
    out = np.repeat(values[np.newaxis], len(train), axis=0)
    for column in np.flatnonzero(~np.isfinite(values).all(axis=0)):
        x = values[:, column]
        known = train & np.isfinite(x)
        some = known.any(axis=1)
        largest = np.where(some, np.max(np.where(known, x, -np.inf), axis=1), 0.0)
        smallest = np.where(some, np.min(np.where(known, x, np.inf), axis=1), 0.0)
        out[:, x == np.inf, column] = largest[:, np.newaxis]
        out[:, x == -np.inf, column] = smallest[:, np.newaxis]
    return out


def indicators(values: Float[np.ndarray, "heads features"]) -> Float[np.ndarray, "heads indicators"]:
    """One column, 1 where it is +inf, for every feature that is so for some head.

    Which features those are is known of all heads; in a training part without such a head the column is constant and
    has no weight.
    """
    infinite = values == np.inf
    return infinite[:, infinite.any(axis=0)].astype(np.float64)


def standardised(
    values: Float[np.ndarray, "splits heads features"], train: Bool[np.ndarray, "splits heads"]
) -> Float[np.ndarray, "splits heads features"]:
    """Each feature less its mean over the training part, over its standard deviation there (divisor: their number).

    A feature that is constant in the training part, up to rounding, is 0 everywhere.
    """
    count = train.sum(axis=1)[:, np.newaxis, np.newaxis]
    weights = train.astype(np.float64)[:, np.newaxis]
    mean = weights @ values / count
    centred = values - mean
    variance = weights @ centred**2 / count
    eps = np.finfo(np.float64).eps
    constant = variance <= count * eps * variance + (count * mean * eps) ** 2  # the bound of scikit-learn's scaler
    return np.where(constant, 0.0, centred / np.sqrt(np.where(constant, 1.0, variance)))


def rank_normal(
    values: Float[np.ndarray, "splits heads features"], train: Bool[np.ndarray, "splits heads"]
) -> Float[np.ndarray, "splits heads features"]:
    """Φ⁻¹ of each value's place in the training part of m heads: (number below + ½ number equal)/m.

    For a training head that is (mid-rank − ½)/m, ties sharing their mean rank; a tested head is mapped through the
    same empirical distribution. Places are kept within [½/m, 1 − ½/m], the ends of an untied training part, which
    bounds a tested head beyond all training heads. A feature constant in the training part is 0 there.
    """
    from scipy.special import ndtri

    splits, heads = train.shape
    position = np.arange(heads)
    passed = np.zeros((splits, heads + 1))
    places = np.empty((splits, heads, values.shape[2]))
    for column in range(values.shape[2]):
        x = values[:, :, column]
        order = np.argsort(x, axis=1, kind="stable")
        ascending = np.take_along_axis(x, order, axis=1)
        differs = ascending[:, 1:] != ascending[:, :-1]
        starts = np.pad(differs, ((0, 0), (1, 0)), constant_values=True)
        ends = np.pad(differs, ((0, 0), (0, 1)), constant_values=True)
        first = np.maximum.accumulate(np.where(starts, position, 0), axis=1)
        last = np.minimum.accumulate(np.where(ends, position, heads)[:, ::-1], axis=1)[:, ::-1]
        order, first, last = (np.broadcast_to(a, (splits, heads)) for a in (order, first, last))
        np.cumsum(np.take_along_axis(train, order, axis=1), axis=1, out=passed[:, 1:])
        below = np.take_along_axis(passed, first, axis=1)
        up_to = np.take_along_axis(passed, last + 1, axis=1)
        np.put_along_axis(places[:, :, column], order, (below + up_to) / 2, axis=1)
    count = train.sum(axis=1)[:, np.newaxis, np.newaxis]
    return ndtri(np.clip(places, 0.5, count - 0.5) / count)


SCALES = {"standardised": standardised, "rank_normal": rank_normal}
"""The preprocessings by the names that a protocol has for them."""
