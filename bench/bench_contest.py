"""The whole contest of one subject and target, and its closed form against a grid search of scikit-learn."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from resolvent.statistics.contest import (
    RESOLVENT,
    SPECTRAL_AND_CLASSICAL,
    ContestGenerators,
    ContestRule,
    contest,
)
from resolvent.statistics.contest.features import feature_table
from resolvent.statistics.contest.folds import grouped_folds
from resolvent.statistics.contest.out_of_fold import design, ridge_predictions

LAYERS, HEADS = 30, 9
TARGET_SECONDS = 30.0
TARGET_SPEEDUP = 20.0


def subject(rng):
    """Columns with a common factor, some infinite, and a target of both families: (columns, target, layer)."""
    names = SPECTRAL_AND_CLASSICAL + RESOLVENT
    values = rng.standard_normal((LAYERS * HEADS, len(names))) + rng.standard_normal((LAYERS * HEADS, 1))
    columns = dict(zip(names, values.T, strict=True))
    target = columns["row_entropy"] + columns["departure"] + rng.standard_normal(LAYERS * HEADS)
    columns["k_sup"] = np.where(rng.random(LAYERS * HEADS) < 0.05, np.inf, np.floor(np.exp(columns["k_sup"])) + 1)
    return columns, target, np.repeat(np.arange(LAYERS), HEADS)


def searched(values, target, folds, penalties):
    """Out-of-fold predictions of the first repeat by a grid search in every outer fold."""
    predictions = np.empty(len(target))
    fold_of = folds.outer[0]
    for fold in range(folds.inner.shape[1]):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        inner = folds.inner[0, fold, train]
        splits = [(np.flatnonzero(inner != i), np.flatnonzero(inner == i)) for i in range(inner.max() + 1)]
        search = GridSearchCV(
            make_pipeline(StandardScaler(), Ridge()),
            {"ridge__alpha": penalties},
            cv=splits,
            scoring="neg_mean_squared_error",
        )
        predictions[test] = search.fit(values[train], target[train]).predict(values[test])
    return predictions


def main():
    """Prints both measurements with their targets; exits 1 where one is missed."""
    columns, target, layer = subject(np.random.default_rng(0))
    keys = ContestGenerators(0, "bench", "synthetic")
    start = time.process_time()
    contest(columns, target, layer, ContestRule(target="persistence"), keys)
    whole = time.process_time() - start
    print(f"whole contest, {LAYERS * HEADS} heads, 20 repeats: {whole:.2f} s of CPU (target {TARGET_SECONDS:.0f} s)")

    # One repeat, folds by head, standardised, three families: 15 of the 1200 searches of the whole.
    rule = ContestRule(target="persistence", repeats=1)
    folds = grouped_folds(np.arange(len(target)), "head", rule, keys)
    families = {
        "E": SPECTRAL_AND_CLASSICAL,
        "P": tuple(name for name in RESOLVENT if name != "k_sup"),  # GridSearchCV refuses infinities
    }
    families["E+P"] = families["E"] + families["P"]
    tables = {name: feature_table(columns, features) for name, features in families.items()}
    penalties = rule.penalty_grid()
    start = time.process_time()
    naive = {name: searched(table, target, folds, penalties) for name, table in tables.items()}
    brute = time.process_time() - start
    times = []
    for _ in range(5):
        start = time.process_time()
        of = design(tables["E+P"], families["E+P"])
        closed = ridge_predictions(of, target, folds, "standardised", penalties, families)
        times.append(time.process_time() - start)
    difference = max(np.abs(closed[name].prediction[0] - naive[name]).max() for name in families)
    speedup = brute / np.median(times)
    print(
        f"one repeat, one grouping, standardised, three families: {np.median(times):.4f} s against {brute:.2f} s of "
        f"GridSearchCV, {speedup:.0f} × (target {TARGET_SPEEDUP:.0f} ×); predictions differ by {difference:.1e}"
    )
    if whole > TARGET_SECONDS or speedup < TARGET_SPEEDUP or difference > 1e-8:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
