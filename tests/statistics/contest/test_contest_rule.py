from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import yaml

from resolvent.keyed_random import generator
from resolvent.statistics.contest import ContestGenerators, ContestRule, InvalidRule

CLAIMS = sorted((Path(__file__).parents[3] / "prereg").glob("contest_*.yaml"))


def protocol(name="contest_previous_token_without_kreiss"):
    (path,) = [path for path in CLAIMS if path.stem == name]
    return yaml.safe_load(path.read_text(encoding="utf-8"))["protocol"]


@pytest.mark.parametrize("path", CLAIMS, ids=[path.stem for path in CLAIMS])
def test_every_registered_contest_has_the_rule_of_its_protocol(path):
    """What decides is read from the claim; all nine share everything but target and features."""
    of = yaml.safe_load(path.read_text(encoding="utf-8"))["protocol"]
    assert ContestRule.of_protocol(of) == ContestRule(
        target=of["target"],
        add_to_family_e=tuple(of.get("add_to_family_e", ())),
        exclude_features=tuple(of.get("exclude_features", ())),
    )


def test_there_are_nine_of_them():
    """A claim that were not found would be tested by nothing above."""
    assert len(CLAIMS) == 9


def test_the_penalties_are_even_in_the_logarithm():
    """25 from 1e-2 to 1e4 are four to a decade."""
    grid = ContestRule.of_protocol(protocol()).penalty_grid()
    np.testing.assert_allclose(np.log10(grid), np.linspace(-2, 4, 25), atol=1e-12)


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["target"], "loss", "target is 'loss'; allowed is persistence or"),
        (["score"], "mean", "score is 'mean'"),
        (["features_from"], "probe", "features_from"),
        (["model", "name"], "lasso", "model.name"),
        (["model", "intercept"], "none", "intercept"),
        (["model", "inner_folds"], 1, "inner_folds is 1; allowed is a whole number of at least 2"),
        (["model", "penalties", "from"], 0, "penalties.from is 0"),
        (["model", "penalties", "spacing"], "linear", "spacing"),
        (["folds", "repeats"], True, "repeats is True"),
        (["folds", "groups"], ["head"], "needed are both of head, layer"),
        (["preprocessing"], ["standardised", "raw"], "allowed is a list of standardised, rank_normal"),
        (["preprocessing"], [], "preprocessing is"),
        (["interval", "level"], 97.5, "level is 97.5"),
        (["interval", "over"], ["texts"], "over is"),
        (["interval"], None, "interval is None; needed is a mapping"),
        (["add_to_family_e"], ["survivals"], "add_to_family_e is"),
        (["exclude_features"], "kreiss", "exclude_features is 'kreiss'"),
    ],
)
def test_a_protocol_that_is_not_carried_out_is_refused(keys, value, message):
    """A key ignored in silence would be a contest other than the registered one."""
    changed = copy.deepcopy(protocol())
    part = changed
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    with pytest.raises(InvalidRule, match=message.replace("(", r"\(")):
        ContestRule.of_protocol(changed)


def test_generators_have_the_keys_that_the_study_froze():
    """folds | claim | subject | grouping | repeat | outer fold, and bootstrap | claim | subject | over."""
    keys = ContestGenerators(9, "c", "s")
    assert keys.folds("head", 3, "outer").random() == generator(9, "folds", "c", "s", "head", 3, "outer").random()
    assert keys.folds("layer", 0, 4).random() == generator(9, "folds", "c", "s", "layer", 0, 4).random()
    assert keys.bootstrap("layers").random() == generator(9, "bootstrap", "c", "s", "layers").random()
