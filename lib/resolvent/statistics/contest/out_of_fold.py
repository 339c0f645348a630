"""Predictions of every head by models that never saw it: preprocessing and ridge fitted fold by fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.statistics.contest.preprocessing import SCALES, finite_values, indicators
from resolvent.statistics.contest.ridge import Moments, chosen_penalties, coefficients, moments, squared_error
from resolvent.statistics.samples import InvalidSample

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64, Shaped

    from resolvent.statistics.contest.folds import Folds


@dataclass(frozen=True, eq=False)
class Design:
    """All features of a contest as one matrix, indicators of infinite ones behind them."""

    values: Float[np.ndarray, "heads columns"]
    features: tuple[str, ...]
    """The names of its first columns."""
    feature_of: Int64[np.ndarray, " columns"]
    """Which feature each column belongs to: an indicator belongs to the feature that is infinite."""

    def columns(self, names: tuple[str, ...]) -> Int64[np.ndarray, " chosen"]:
        """The columns of a family, indicators included."""
        return np.flatnonzero(np.isin(self.feature_of, [self.features.index(name) for name in names]))


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What models of one family, grouping and preprocessing say of the heads they were not fitted on."""

    prediction: Float[np.ndarray, "repeats heads"]
    importance: Mapping[str, float]
    """Per feature the rise in Σ_h mean_repeats (y_h − f_h)² when its values are permuted within each test fold: the
    exact mean over all permutations, an infinite feature's indicator permuted with it."""


def design(table: Float[np.ndarray, "heads features"], names: tuple[str, ...]) -> Design:
    """The features `names` with an indicator for each that is +inf somewhere. Raises InvalidSample for NaN."""
    if np.isnan(table).any():
        head, column = np.argwhere(np.isnan(table))[0].tolist()
        raise InvalidSample(f"feature {names[column]} of head {head} is NaN; needed are numbers, infinite ones allowed")
    infinite = np.flatnonzero((table == np.inf).any(axis=0))
    return Design(
        np.concatenate([table, indicators(table)], axis=1), names, np.concatenate([np.arange(len(names)), infinite])
    )


def fold_targets(
    target: Float[np.ndarray, " heads"], train: Bool[np.ndarray, "splits heads"]
) -> Float[np.ndarray, "splits heads"]:
    """The target as each split sees it: −inf is the smallest finite value of its training part."""
    return np.broadcast_to(finite_values(target[:, np.newaxis], train)[:, :, 0], train.shape)


def scored_targets(target: Float[np.ndarray, " heads"], folds: Folds) -> Float[np.ndarray, "repeats heads"]:
    """The target of each head as the outer fold that tests it sees it."""
    heads = np.arange(len(target))
    return np.stack(
        [fold_targets(target, ~folds.outer_test(repeat))[outer, heads] for repeat, outer in enumerate(folds.outer)]
    )


def ridge_predictions(
    of: Design,
    target: Float[np.ndarray, " heads"],
    folds: Folds,
    preprocessing: str,
    penalties: Float[np.ndarray, " penalties"],
    families: Mapping[str, tuple[str, ...]],
) -> dict[str, OutOfFold]:
    """Out-of-fold predictions of each family (name → features), all on the same folds.

    Each training part, outer and inner, gets its own finite values, scale, centre of the target and coefficients. The
    penalty of an outer fold is the one with the least squared error over its inner folds.
    """
    chosen = {name: of.columns(features) for name, features in families.items()}
    predictions = {name: np.empty(folds.outer.shape) for name in families}
    rises = {name: np.zeros(len(of.features)) for name in families}
    heads = np.arange(len(target))
    for repeat, fold_of in enumerate(folds.outer):
        test = folds.outer_test(repeat)
        inner_test = folds.inner_test(repeat)
        inner_train = ((~test)[:, np.newaxis] & ~inner_test).reshape(-1, len(heads))
        outer, outer_target = _fitted(of.values, target, ~test, SCALES[preprocessing])
        inner, inner_target = _fitted(of.values, target, inner_train, SCALES[preprocessing])
        marked = inner_test.reshape(inner_train.shape)
        for name, columns in chosen.items():
            paths = coefficients(inner, columns, penalties)
            error = squared_error(inner, columns, paths, inner_target, marked)
            best = chosen_penalties(error.reshape(*inner_test.shape[:2], -1))
            weights = coefficients(outer, columns, penalties)[np.arange(len(test)), :, best]
            parts = outer.centred[:, :, columns] * weights[:, np.newaxis]
            predicted = outer.mean[:, np.newaxis] + parts.sum(axis=2)
            predictions[name][repeat] = predicted[fold_of, heads]
            owner = of.feature_of[columns][:, np.newaxis] == np.arange(len(of.features))
            rises[name] += _permutation_rise(parts @ owner, outer_target - predicted, test)
    return {
        name: OutOfFold(
            predictions[name],
            {feature: float(rises[name][of.features.index(feature)]) / len(folds.outer) for feature in features},
        )
        for name, features in families.items()
    }


def layer_predictions(
    target: Float[np.ndarray, " heads"], layer: Shaped[np.ndarray, " heads"], folds: Folds
) -> Float[np.ndarray, "repeats heads"]:
    """Each head by the mean target of its layer in the training part; of a layer not in it, by the mean of all."""
    member = (np.unique(layer)[:, np.newaxis] == layer).astype(np.float64)
    layer_of = np.unique(layer, return_inverse=True)[1]
    predictions = np.empty(folds.outer.shape)
    for repeat, fold_of in enumerate(folds.outer):
        train = ~folds.outer_test(repeat)
        known = train * fold_targets(target, train)
        counts = train @ member.T
        overall = known.sum(axis=1) / train.sum(axis=1)
        means = np.where(counts > 0, known @ member.T / np.maximum(counts, 1), overall[:, np.newaxis])
        predictions[repeat] = means[fold_of, layer_of]
    return predictions


def _fitted(
    values: np.ndarray, target: np.ndarray, train: np.ndarray, scale: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> tuple[Moments, np.ndarray]:
    """Moments of the scaled features of each training part, and the target as it sees it."""
    seen = fold_targets(target, train)
    return moments(scale(finite_values(values, train), train), seen, train), seen


def _permutation_rise(
    parts: Float[np.ndarray, "splits heads features"],
    residual: Float[np.ndarray, "splits heads"],
    test: Bool[np.ndarray, "splits heads"],
) -> Float[np.ndarray, " features"]:
    """Rise of the summed squared error of tested heads when one feature's part of the prediction is permuted.

    Head h gets the part c_k of a k uniform over the m tested heads in place of its own: the mean of
    (e_h + c_h − c_k)² is (e_h + d_h)² + v with d_h = c_h − c̄ and v the mean of d². Summed, the rise is
    Σ 2 e_h d_h + 2 d_h².
    """
    marked = test[:, :, np.newaxis]
    count = marked.sum(axis=1, keepdims=True)
    centred = np.where(marked, parts - (parts * marked).sum(axis=1, keepdims=True) / count, 0.0)
    return 2 * (centred * (residual[:, :, np.newaxis] + centred)).sum(axis=(0, 1))
