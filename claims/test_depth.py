"""Depth products: how long deviations survive against what spectra and norms predict."""

import numpy as np

from resolvent.statistics import ratio


def test_depth_failure(claim, depth):
    layers = depth.layers
    half = -(-layers // 2)
    gap = np.median(depth.real.gap, axis=0)
    above_uniform = gap - depth.baseline_gap
    learned = np.median(depth.real.gap - depth.null_gap("layer_permutation"), axis=0)
    by_head = np.median(depth.real.gap - depth.null_gap("head_permutation"), axis=0)
    overshoot = np.median(depth.real.log10_norm - depth.real.log10_deviation, axis=0)
    claim.judge(
        heuristic_gap_decades=gap[-1],
        heuristic_gap_decades_per_layer=above_uniform[-1] / layers,
        gap_growth_decades_per_layer=(above_uniform[-1] - above_uniform[half - 1]) / (layers - half),
        learned_gap_decades_per_layer=learned[-1] / layers,
        norm_overshoot_decades_per_layer=overshoot[-1] / layers,
        learned_gap_by_head_decades_per_layer=by_head[-1] / layers,
        null_gap_decades=np.median(depth.null_gap("layer_permutation")[:, -1]),
        null_gap_by_head_decades=np.median(depth.null_gap("head_permutation")[:, -1]),
    )


def test_depth_failure_head_null(claim, depth):
    learned = np.median(depth.real.gap[:, -1] - depth.null_gap("head_permutation")[:, -1])
    claim.judge(learned_gap_decades_per_layer=learned / depth.layers)


def test_depth_failure_on_probe(claim, depth_by_state):
    corpus = np.median(depth_by_state["corpus"].gap[:, -1])
    probe = np.median(depth_by_state["repeat_probe"].gap[:, -1])
    claim.judge(heuristic_gap_decades=corpus, probe_gap_decades=probe, gap_ratio=ratio(probe, corpus))


def test_perron_absorption(claim, depth):
    faster = depth.real.log10_deviation[:, -1] - depth.null_deviation("layer_permutation")[:, -1]
    claim.judge(
        absorption_decades_per_layer=np.median(faster) / depth.layers,
        log10_deviation=np.median(depth.real.log10_deviation[:, -1]),
    )


def test_rollout_survival(claim, depth):
    at = min(12, depth.layers) - 1
    claim.judge(
        rollout_log10_survival=np.median(depth.rollout.log10_deviation[:, at]),
        rollout_gap_decades=np.median(depth.rollout.gap[:, at]),
    )
