"""The decisive contest: do resolvent features predict unseen heads better than spectral ones, or add to them?

One test a target; each reports the same numbers (`resolvent.statistics.contest.reported_metrics`), and which features
stand in which family, and which rule decides, is the claim's protocol.
"""


def test_contest_persistence(claim, contest):
    claim.judge(**contest.metrics(claim.name))


def test_contest_persistence_beyond_survival(claim, contest):
    claim.judge(**contest.metrics(claim.name))


def test_contest_previous_token(claim, contest):
    claim.judge(**contest.metrics(claim.name))


def test_contest_previous_token_without_kreiss(claim, contest):
    claim.judge(**contest.metrics(claim.name))


def test_contest_induction(claim, contest):
    claim.judge(**contest.metrics(claim.name))


def test_contest_duplicate_token(claim, contest):
    claim.judge(**contest.metrics(claim.name))


def test_contest_criticality(claim, contest):
    claim.judge(**contest.metrics(claim.name))


def test_contest_interior_growth(claim, contest):
    claim.judge(**contest.metrics(claim.name))


def test_contest_beyond_survival(claim, contest):
    claim.judge(**contest.metrics(claim.name))
