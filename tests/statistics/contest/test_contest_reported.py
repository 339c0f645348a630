from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from planted import LAYER, noise_columns, quick_rule

from resolvent.statistics import Interval
from resolvent.statistics.contest import (
    FAMILIES,
    FAMILY_WORDS,
    GROUPING_SUFFIXES,
    SPECTRAL_AND_CLASSICAL,
    ContestGenerators,
    contest,
    families,
    reported_metrics,
    winner,
)
from resolvent.strict_yaml import read_yaml


@pytest.fixture(scope="module")
def result():
    columns = noise_columns(np.random.default_rng(40))
    target = columns["departure"] + np.random.default_rng(41).standard_normal(len(LAYER))
    return contest(columns, target, LAYER, quick_rule(), ContestGenerators(3, "planted", "simulated"))


def test_every_family_grouping_and_preprocessing_is_reported(result):
    """A reader must find the one that disagrees, not only the decisive one."""
    metrics = reported_metrics(result)
    for (grouping, preprocessing), setting in result.settings.items():
        suffix = f"{preprocessing}{GROUPING_SUFFIXES[grouping]}"
        for family in FAMILIES:
            assert metrics[f"r2_{FAMILY_WORDS[family]}_{suffix}"] is setting.families[family].r2
            assert metrics[f"top5_auroc_{FAMILY_WORDS[family]}_{suffix}"] == setting.families[family].top5_auroc
        assert metrics[f"gain_p_over_e_{suffix}"] is setting.gains.p_over_e
        assert metrics[f"gain_union_over_e_{suffix}"] is setting.gains.union_over_e
        assert metrics[f"bos_mass_r2_{suffix}"] is setting.bos_mass_r2
        if grouping == "head":
            assert metrics[f"gain_p_over_e_{suffix}_with_kreiss"] is setting.gains_with_kreiss.p_over_e
            assert metrics[f"gain_union_over_e_{suffix}_without_kreiss"] is setting.gains_without_kreiss.union_over_e
    assert metrics["layer_baseline_r2"] is result.layer_baseline_r2["head"]
    assert metrics["layer_baseline_r2_unseen_layers"] is result.layer_baseline_r2["layer"]
    assert metrics["decisive_gain_unseen_layers_without_kreiss"] is result.decisive_gain_unseen_layers_without_kreiss


def test_the_published_rule_stands_beside_ours(result):
    """Its verdict as 1 or 0, and the interval that it looks at."""
    metrics = reported_metrics(result)
    lows = [metrics[f"published_gain_{name}"].low for name in ("standardised", "rank_normal")]
    assert metrics["published_supported"] == float(min(lows) > 0) == 1.0


def test_importance_is_that_of_every_feature_of_the_union_on_unseen_heads(result):
    """The one that carries the target must come out on top."""
    metrics = reported_metrics(result)
    for name in ("standardised", "rank_normal"):
        found = {key: value for key, value in metrics.items() if key.startswith("importance_") and key.endswith(name)}
        assert len(found) == len(families(quick_rule()).union)
        assert max(found, key=found.get) == f"importance_departure_{name}"


def test_every_name_is_an_identifier_and_every_number_a_number(result):
    """What the judge accepts."""
    for name, value in reported_metrics(result).items():
        assert name.isidentifier()
        assert isinstance(value, float | Interval)


@pytest.mark.parametrize("file", sorted((Path(__file__).parents[3] / "prereg" / "published").glob("contest_*.yaml")))
def test_published_numbers_stand_beside_ours(result, file):
    """Under a name that no test reports they would be shown alone."""
    names = {value["metric"] for value in read_yaml(file)["values"] if "metric" in value}
    assert names <= set(reported_metrics(result))


def test_other_claims_report_the_same_numbers(result):
    """A table over claims needs one set of names, whatever a claim excludes or adds to family E."""
    columns = noise_columns(np.random.default_rng(42)) | {
        name: np.random.default_rng(43).standard_normal(len(LAYER)) for name in ("log10_survival_1", "log10_survival_2")
    }
    columns["log10_mass_off_bos"] = columns[SPECTRAL_AND_CLASSICAL[0]] ** 2
    rule = quick_rule(add_to_family_e=("survival_short",), exclude_features=("kreiss",))
    other = reported_metrics(contest(columns, columns["k_sup"], LAYER, rule, ContestGenerators(3, "other", "s")))

    def but_importance(metrics):
        return {name for name in metrics if not name.startswith("importance_")}

    assert but_importance(other) == but_importance(reported_metrics(result))


def test_the_winner_has_the_largest_smaller_score():
    """A family that wins under one preprocessing only has not won."""
    metrics = {
        "r2_e_standardised": 0.5, "r2_e_rank_normal": 0.4, "r2_p_standardised": 0.9, "r2_p_rank_normal": 0.3,
        "r2_union_standardised": 0.45, "r2_union_rank_normal": 0.42,
    }  # fmt: skip
    assert winner(metrics) == "E+P"
    assert winner({"total_heads": 12.0}) is None
