from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from planted import quick_rule

from resolvent.statistics.contest import (
    BATTERY_COLUMNS,
    NULL_COLUMNS,
    RESOLVENT,
    SPECTRAL_AND_CLASSICAL,
    SURVIVAL,
    SURVIVAL_POWERS,
    SURVIVAL_SHORT,
    WEIGHT_NON_NORMAL,
    WEIGHT_SPECTRAL,
    MissingFeature,
    attention_features,
    families,
    survival_features,
    survival_short_features,
)
from resolvent.statistics.contest.features import feature_table

FORBIDDEN = {"previous_token_mass", "transient", "transient_upper", "kreiss_upper", "kreiss_at"}
"""Targets by another name, and numbers that belong to the certificate and not to the head."""


def tables(texts=5, heads=4, draws=3, seed=0):
    rng = np.random.default_rng(seed)
    battery = {name: 1 + rng.random((texts, heads)) for name in BATTERY_COLUMNS}
    return battery, {name: 1 + rng.random((draws, texts, heads)) for name in NULL_COLUMNS}


def test_the_families_are_disjoint_and_hold_no_target():
    """A win of P must come from resolvent quantities, and no feature may be what is predicted."""
    of = families(quick_rule())
    assert of.e == SPECTRAL_AND_CLASSICAL
    assert of.p == RESOLVENT
    assert not set(of.e) & set(of.p)
    assert of.union == of.e + of.p
    assert not set(of.union) & FORBIDDEN
    assert set(WEIGHT_SPECTRAL) < set(of.e)
    assert set(WEIGHT_NON_NORMAL) < set(of.p)
    assert (len(of.e), len(of.p)) == (10, 14)


@pytest.mark.parametrize(("name", "added"), [("survival", SURVIVAL), ("survival_short", SURVIVAL_SHORT)])
def test_survival_is_added_to_e_and_so_to_the_union(name, added):
    """P has to beat it, and the union holds everything."""
    of = families(quick_rule(add_to_family_e=(name,)))
    assert of.e == SPECTRAL_AND_CLASSICAL + added
    assert of.p == RESOLVENT
    assert set(added) < set(of.union)


def test_without_kreiss_nothing_computed_from_it_is_left():
    """The excess is K in other units."""
    of = families(quick_rule(exclude_features=("kreiss",)))
    assert set(RESOLVENT) - set(of.p) == {"kreiss", "kreiss_excess"}
    assert of.e == SPECTRAL_AND_CLASSICAL


def test_excesses_are_formed_text_by_text():
    """The median of a difference is not the difference of medians, and nulls belong to one text."""
    battery, nulls = tables()
    found = attention_features(battery, nulls)
    excess = np.log2(battery["kreiss"]) - np.log2(nulls["kreiss"]).mean(axis=0)
    np.testing.assert_array_equal(found["kreiss_excess"], np.median(excess, axis=0))
    over = np.median(battery["rho_eps_1e-3"] - (battery["spectral_radius"] + 1e-3), axis=0)
    np.testing.assert_array_equal(found["rho_eps_1e-3_over_floor"], over)
    null = battery["rho_eps_1e-2"] - nulls["rho_eps_1e-2"].mean(axis=0)
    np.testing.assert_array_equal(found["rho_eps_1e-2_excess"], np.median(null, axis=0))


def test_attention_and_weights_make_up_both_families():
    """Each feature has one origin."""
    found = attention_features(*tables())
    assert {*found, *WEIGHT_SPECTRAL, *WEIGHT_NON_NORMAL} == {*SPECTRAL_AND_CLASSICAL, *RESOLVENT}
    assert all(values.shape == (4,) for values in found.values())


def test_infinite_on_most_texts_is_infinite_for_the_head():
    """A median of mostly infinite values has no finite stand-in; on few texts it has."""
    battery, nulls = tables()
    battery["log10_condition"][:3, 0] = np.inf
    battery["k_sup"][:2, 1] = np.inf
    found = attention_features(battery, nulls)
    assert found["log10_condition"][0] == np.inf
    assert np.isfinite(found["k_sup"]).all()


@pytest.mark.parametrize("missing", ["kreiss", "row_entropy"])
def test_a_missing_quantity_is_named(missing):
    """A family with a column short would be another contest."""
    battery, nulls = tables()
    del battery[missing]
    with pytest.raises(MissingFeature, match=missing):
        attention_features(battery, nulls)
    battery, nulls = tables()
    del nulls["kreiss"]
    with pytest.raises(MissingFeature, match="kreiss of the row-permutation nulls"):
        attention_features(battery, nulls)
    with pytest.raises(MissingFeature, match="bos_mass"):
        feature_table({"kreiss": np.zeros(3)}, ("kreiss", "bos_mass"))


def test_survival_of_a_chain_that_dies_at_one_rate():
    """s_k/√(n−1) = q^k has the logarithm k·log10 q, whose slope is log10 q."""
    q, length = np.array([0.9, 0.5]), 33
    log10 = np.array(SURVIVAL_POWERS) * np.log10(q)[:, np.newaxis] + 0.5 * math.log10(length - 1)
    found = survival_features(np.stack([log10, log10, log10]), length)
    assert tuple(found) == SURVIVAL
    for k in SURVIVAL_POWERS:
        np.testing.assert_allclose(found[f"survival_{k}"], q**k, rtol=1e-12)
    np.testing.assert_allclose(found["survival_slope"], np.log10(q), rtol=1e-12)


def test_a_dead_chain_survives_by_nothing_and_falls_for_ever():
    """s_k = 0 has the share 0, log10 −inf and the slope −inf, without a warning."""
    log10 = np.full((3, 1, 5), -np.inf)
    found = survival_features(log10, 20)
    assert [found[name][0] for name in SURVIVAL] == [0.0] * 5 + [-np.inf]
    short = survival_short_features(log10[..., :2], np.ones((3, 1)), 20)
    assert [short[name][0] for name in SURVIVAL_SHORT] == [-np.inf] * 3


def test_short_survival_is_in_logarithms():
    """A power norm's logarithm is nearly linear in them."""
    found = survival_short_features(np.array([[[0.2, 0.1]]]), np.array([[0.75]]), 101)
    np.testing.assert_allclose([found[name][0] for name in SURVIVAL_SHORT], [-0.8, -0.9, math.log10(0.25)], rtol=1e-12)


def test_survival_at_other_steps_is_refused():
    """Five columns are taken for k = 1, 2, 4, 8, 16."""
    with pytest.raises(MissingFeature, match=r"needed is \(texts, heads, 5\)"):
        survival_features(np.zeros((3, 2, 4)), 20)


def test_importing_the_contest_is_cheap():
    """Workers that only judge import it too."""
    heavy = "{'scipy', 'sklearn', 'statsmodels', 'pandas', 'jaxtyping', 'numba', 'torch'}"
    code = f"import sys, resolvent.statistics.contest; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
