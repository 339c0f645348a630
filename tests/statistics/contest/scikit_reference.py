"""The same models written with scikit-learn's own parts, one fold at a time."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


class RankNormal(TransformerMixin, BaseEstimator):
    """Normal scores through the empirical distribution of what it was fitted on, column by column."""

    def fit(self, X, y=None):
        self.sorted_ = np.sort(X, axis=0)
        return self

    def transform(self, X):
        m = len(self.sorted_)
        below = np.column_stack([np.searchsorted(s, x, "left") for s, x in zip(self.sorted_.T, X.T, strict=True)])
        up_to = np.column_stack([np.searchsorted(s, x, "right") for s, x in zip(self.sorted_.T, X.T, strict=True)])
        return norm.ppf(np.clip((below + up_to) / 2, 0.5, m - 0.5) / m)


SCALERS = {"standardised": StandardScaler, "rank_normal": RankNormal}


def searched_predictions(values, target, folds, preprocessing, penalties):
    """(repeats, heads): every outer fold a GridSearchCV over the penalties with the given inner folds."""
    predictions = np.empty(folds.outer.shape)
    for repeat, fold_of in enumerate(folds.outer):
        for fold in range(folds.inner.shape[1]):
            train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            inner = folds.inner[repeat, fold, train]
            splits = [(np.flatnonzero(inner != i), np.flatnonzero(inner == i)) for i in range(inner.max() + 1)]
            model = make_pipeline(SCALERS[preprocessing](), Ridge(solver="svd"))
            search = GridSearchCV(
                model, {"ridge__alpha": penalties}, cv=splits, scoring="neg_mean_squared_error", n_jobs=1
            )
            search.fit(values[train], target[train])
            predictions[repeat, test] = search.predict(values[test])
    return predictions
