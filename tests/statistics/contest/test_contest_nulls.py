from __future__ import annotations

import pytest
from planted import quick_rule, simulated_null, supported

NULLS = 200
MOST = 20


@pytest.mark.parametrize("layer_effect", [False, True])
def test_where_no_feature_knows_the_target_support_is_rare(layer_effect):
    """A rule that is satisfied by chance, or by recognising a layer, decides nothing. Were its rate .04, more than 20
    of 200 would have a probability below 1e-4."""
    rule = quick_rule()
    results = (simulated_null(seed, rule, layer_effect=layer_effect) for seed in range(NULLS))
    assert sum(supported(result) for result in results) <= MOST
