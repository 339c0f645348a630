from __future__ import annotations

import numpy as np
import pytest

from resolvent.statistics import RankTest, benjamini_hochberg, signed_classes, within_text_rank

pytestmark = pytest.mark.usefixtures("little_garbage")

CENSUSES = {8: 500, 32: 300}


@pytest.fixture(scope="module")
def null_censuses(pure_nulls):
    """By number of texts, tests (censuses, 30 heads): five pure-null heads of each kind a census."""

    def tested(texts):
        censuses = CENSUSES[texts]
        tests = [
            within_text_rank(*pure_nulls.sample(kind, texts, 5 * censuses, seed=14))
            for kind in sorted(pure_nulls.pools)
        ]
        p, statistic, direction = (
            np.concatenate([getattr(test, name).reshape(censuses, 5) for test in tests], axis=1)
            for name in ("p", "statistic", "direction")
        )
        return RankTest(p, statistic, direction)

    return {texts: tested(texts) for texts in CENSUSES}


def of_census(test, census):
    return RankTest(test.p[census], test.statistic[census], test.direction[census])


def test_a_census_of_pure_nulls_rarely_has_a_head_in_any_class(null_censuses, most_rejections, texts):
    """With nothing to find, both corrections hold the chance of finding anything at the level."""
    classes = [signed_classes(of_census(null_censuses[texts], i), 0.05) for i in range(CENSUSES[texts])]
    for name in ("suppressed", "amplified"):
        assert sum(bool(getattr(c, name).any()) for c in classes) <= most_rejections(len(classes), 0.05)


def test_beside_many_suppressed_heads_only_holm_keeps_false_amplified_ones_rare(null_censuses, most_rejections, texts):
    """Benjamini–Hochberg spends the suppressed heads' allowance on the others; hence Holm above the null."""
    nulls = null_censuses[texts]
    heads = nulls.p.shape[1]
    censuses, by_holm, by_bh = 300, 0, 0
    for census in range(censuses):
        null = of_census(nulls, census)
        test = RankTest(
            np.concatenate([null.p, np.full(4 * heads, 1e-5)]),
            np.concatenate([null.statistic, np.full(4 * heads, -16.0)]),
            np.concatenate([null.direction, np.full(4 * heads, -1, dtype=np.int8)]),
        )
        classes = signed_classes(test, 0.05)
        assert classes.suppressed[heads:].all()
        by_holm += bool(classes.amplified.any())
        by_bh += bool((benjamini_hochberg(test.p, 0.05) & (test.direction > 0)).any())
    bound = most_rejections(censuses, 0.05)
    assert by_holm <= bound < by_bh


def test_direction_decides_the_class():
    """One two-sided family; a head counts on the side on which it lies."""
    test = RankTest(
        np.array([[1e-6, 1e-6], [0.04, 0.9]]), np.zeros((2, 2)), np.array([[-1, 1], [1, -1]], dtype=np.int8)
    )
    classes = signed_classes(test, 0.05)
    np.testing.assert_array_equal(classes.suppressed, [[True, False], [False, False]])
    np.testing.assert_array_equal(classes.amplified, [[False, True], [False, False]])
