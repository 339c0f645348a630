"""Training time: when damping comes, and what it follows."""

import numpy as np

from resolvent.statistics import crossing, median, spearman


def test_consolidation(claim, trajectory, score_trajectory):
    excess = trajectory.excess("row_permutation")
    previous, induction = trajectory.previous_token_heads, score_trajectory.induction_heads
    rest = ~previous & ~induction
    claim.judge(
        previous_token_heads=previous.sum(),
        induction_heads=induction.sum(),
        final_median_excess_bits=median(excess[-1]),
        initial_median_excess_bits=abs(median(excess[0])),
        induction_minus_rest_bits=median(excess[-1][induction]) - median(excess[-1][rest]),
        previous_token_excess_bits=median(excess[-1][previous]),
    )


def test_consolidation_timing(claim, trajectory, score_trajectory, weight_trajectory):
    how = claim.protocol["crossing"]
    excess = np.median(trajectory.excess("row_permutation"), axis=1)
    d_head = np.median(weight_trajectory.d_head, axis=1)
    previous, induction = trajectory.median("previous_token_mass"), score_trajectory.induction_score
    formed = max(crossing(how, score[:, score[-1].argmax()]) for score in (previous, induction))
    consolidated = crossing(how, excess)
    claim.judge(
        previous_token_heads=trajectory.previous_token_heads.sum(),
        induction_heads=score_trajectory.induction_heads.sum(),
        final_median_excess_bits=excess[-1],
        final_median_d_head_change_bits=d_head[-1] - d_head[0],
        formation_lag_checkpoints=consolidated - formed,
        crossing_difference_checkpoints=abs(consolidated - crossing(how, d_head)),
        step_of_formation=trajectory.steps[formed],
        step_of_consolidation=trajectory.steps[consolidated],
        trajectory_correlation=spearman(excess, d_head),
    )


def test_pattern_precedes_function(claim, trajectory):
    damped, how = _damped_sinks(claim, trajectory), claim.protocol["onset"]["crossing"]
    pattern = crossing(how, trajectory.median("bos_mass")[:, damped])
    damping = crossing(how, trajectory.log2_kreiss[:, damped])
    first = int((pattern <= damping).sum())
    claim.judge(
        damped_sink_heads=damped.sum(),
        pattern_first_fraction=claim.proportion("pattern_first_fraction", first, int(damped.sum())),
        leading_heads=(pattern < damping).sum(),
        tied_heads=(pattern == damping).sum(),
    )


def test_pattern_leads_function(claim, trajectory):
    damped, onset = _damped_sinks(claim, trajectory), claim.protocol["onset"]
    lead = crossing(onset["crossing"], trajectory.log2_kreiss[:, damped])
    lead = lead - crossing(onset["crossing"], trajectory.log2_law[:, damped])
    untied = np.abs(lead) > onset["tie"]
    leading = int((lead[untied] > 0).sum())
    claim.judge(
        untied_heads=untied.sum(),
        pattern_lead_fraction=claim.proportion("pattern_lead_fraction", leading, int(untied.sum())),
        damped_sink_heads=damped.sum(),
    )


def test_no_damping_without_concentration(claim, trajectory, concentration_trajectory):
    protocol = claim.protocol
    deep = trajectory.excess("row_permutation") <= protocol["damped_bits"]
    sink = trajectory.median("bos_mass") >= protocol["sink_mass"]
    one_hot = trajectory.median("normalised_entropy") <= protocol["entropy"]
    gathered = concentration_trajectory.top_column_share >= protocol["column_share"]
    unexplained = (deep & ~sink & ~(one_hot & gathered)).any(axis=0)
    damped = deep.any(axis=0)
    claim.judge(
        damped_heads=damped.sum(),
        unexplained_damped_fraction=claim.proportion(
            "unexplained_damped_fraction", int(unexplained.sum()), int(damped.sum())
        ),
        unexplained_damped_heads=unexplained.sum(),
    )


def _damped_sinks(claim, trajectory):
    """Heads that end as sinks with K_dev down to the protocol's share of where it began."""
    kreiss = trajectory.median("kreiss")
    damped = kreiss[-1] / kreiss[0] <= claim.protocol["damped_kreiss_ratio"]
    return damped & (trajectory.median("bos_mass")[-1] >= claim.protocol["sink_mass"])
