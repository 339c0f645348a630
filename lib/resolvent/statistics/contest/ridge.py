"""Ridge regression on many training parts at once, every penalty in closed form, the penalty chosen by inner folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64


@dataclass(frozen=True, eq=False)
class Moments:
    """What every ridge on a training part needs, for all features at once: a family takes rows and columns of it."""

    centred: Float[np.ndarray, "splits heads features"]
    """Features of all heads less their mean over the training part."""
    gram: Float[np.ndarray, "splits features features"]
    """Of the centred features, over the training part."""
    cross: Float[np.ndarray, "splits features"]
    """Centred features times the centred target, over the training part."""
    mean: Float[np.ndarray, " splits"]
    """Of the target, over the training part: the intercept on centred features."""


def moments(
    features: Float[np.ndarray, "splits heads features"],
    target: Float[np.ndarray, "splits heads"],
    train: Bool[np.ndarray, "splits heads"],
) -> Moments:
    """Moments of each training part; neither the features nor the target of any other head enters them."""
    weights = train.astype(np.float64)[:, np.newaxis]
    count = weights.sum(axis=2)
    centred = features - weights @ features / count[:, :, np.newaxis]
    mean = (weights[:, 0] * target).sum(axis=1) / count[:, 0]
    transposed = np.swapaxes(centred, 1, 2) * weights
    cross = transposed @ (target - mean[:, np.newaxis])[:, :, np.newaxis]
    return Moments(centred, transposed @ centred, cross[:, :, 0], mean)


def coefficients(
    of: Moments, columns: Int64[np.ndarray, " columns"], penalties: Float[np.ndarray, " penalties"]
) -> Float[np.ndarray, "splits columns penalties"]:
    """argmin over w of Σ over the training part (y − ȳ − (x − x̄)·w)² + penalty·‖w‖², for every split and penalty.

    One eigendecomposition of the Gram matrix a split: (G + αI)⁻¹c = V(Λ + αI)⁻¹Vᵀc. Relative error about
    1e-16·λ_max/α. The intercept is not penalised.
    Source: Hoerl and Kennard (1970), Technometrics 12, 55–67; the objective is that of scikit-learn's Ridge.
    """
    values, vectors = np.linalg.eigh(of.gram[:, columns[:, np.newaxis], columns])
    rotated = np.swapaxes(vectors, 1, 2) @ of.cross[:, columns, np.newaxis]
    return vectors @ (rotated / (np.maximum(values, 0.0)[:, :, np.newaxis] + penalties))


def squared_error(
    of: Moments,
    columns: Int64[np.ndarray, " columns"],
    weights: Float[np.ndarray, "splits columns penalties"],
    target: Float[np.ndarray, "splits heads"],
    test: Bool[np.ndarray, "splits heads"],
) -> Float[np.ndarray, "splits penalties"]:
    """Mean squared error over the tested heads of each split, for every penalty."""
    residual = of.centred[:, :, columns] @ weights - (target - of.mean[:, np.newaxis])[:, :, np.newaxis]
    marked = test.astype(np.float64)[:, np.newaxis]
    return (marked @ residual**2)[:, 0] / marked.sum(axis=2)


def chosen_penalties(
    inner_error: Float[np.ndarray, "outer inner penalties"],
) -> Int64[np.ndarray, " outer"]:
    """Of each outer fold the penalty of the least mean, over its inner folds, of the mean squared error.

    The smallest of those that tie exactly, as GridSearchCV takes it from an ascending grid.
    """
    return inner_error.mean(axis=1).argmin(axis=1)
