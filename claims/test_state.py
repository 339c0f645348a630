"""State-conditionality: what wakes a dormant head, and how much of it is mass released from BOS."""

from resolvent.statistics import median, ratio, spearman


def test_state_conditionality(claim, engagement):
    change = engagement.excess_change("row_permutation")
    induction, previous = engagement.in_class("induction"), engagement.in_class("previous_token")
    kreiss_ratio = engagement["repeat_probe"].median("kreiss") / engagement["corpus"].median("kreiss")
    claim.judge(
        induction_heads=induction.sum(),
        previous_token_heads=previous.sum(),
        probe_loss_drop_nats=engagement.loss_drop,
        engagement_correlation=claim.interval(
            "engagement_correlation", spearman, change, engagement.induction_score, layer=engagement.layer
        ),
        induction_excess_gain_bits=median(change[induction]),
        induction_kreiss_ratio=median(kreiss_ratio[induction]),
        previous_token_excess_gain_bits=median(change[previous]),
        previous_token_correlation=spearman(change, engagement.previous_token_score),
    )


def test_duplicate_token_engagement(claim, engagement):
    change = engagement.excess_change("row_permutation")
    duplicate, rest = engagement.in_class("duplicate_token"), ~engagement.in_class("induction")
    claim.judge(
        duplicate_token_heads=duplicate.sum(),
        probe_loss_drop_nats=engagement.loss_drop,
        duplicate_correlation=claim.interval(
            "duplicate_correlation",
            spearman,
            change[rest],
            engagement.duplicate_token_score[rest],
            layer=engagement.layer[rest],
        ),
        duplicate_excess_gain_bits=median(change[duplicate]),
    )


def test_engagement_beyond_bos_mass(claim, engagement):
    change = engagement.excess_change("bos_preserving")
    induction = engagement.in_class("induction")
    claim.judge(
        induction_heads=induction.sum(),
        probe_loss_drop_nats=engagement.loss_drop,
        engagement_correlation=claim.interval(
            "engagement_correlation", spearman, change, engagement.induction_score, layer=engagement.layer
        ),
        induction_excess_gain_bits=median(change[induction]),
    )


def test_engagement_needs_repeat(claim, engagement):
    induction = engagement.in_class("induction")
    over_random = median(engagement.excess_change("row_permutation", since="random_probe")[induction])
    over_corpus = median(engagement.excess_change("row_permutation", since="corpus")[induction])
    claim.judge(
        induction_heads=induction.sum(),
        probe_loss_drop_nats=engagement.loss_drop,
        induction_gain_over_corpus_bits=over_corpus,
        repeat_gain_bits=over_random,
        repeat_share=ratio(over_random, over_corpus),
    )
