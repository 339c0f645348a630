"""The signed census: sinks damp, a routing minority holds a reserve, and what their nulls explain."""

import numpy as np

from resolvent.statistics import mean, median, spearman


def test_bos_mass_law(claim, census):
    kreiss, mass = census.median("kreiss"), census.median("bos_mass")
    low, high = claim.protocol["mass_range"]
    in_range = (mass >= low) & (mass <= high)
    close = (census.law_error <= claim.protocol["tolerance_bits"]).astype(float)
    claim.judge(
        heads_in_range=in_range.sum(),
        law_error_bits=median(census.law_error[in_range]),
        law_coverage=claim.interval("law_coverage", np.mean, close[in_range], layer=census.layer[in_range]),
        kreiss_bos_correlation=spearman(kreiss, mass),
        law_error_bits_all_heads=median(census.law_error),
    )


def test_signed_census(claim, census):
    excess = census.excess("row_permutation")
    signed, one_draw = census.signed("row_permutation"), census.signed_one_draw("row_permutation")
    mass, previous = census.median("bos_mass"), census.median("previous_token_mass")
    claim.judge(
        suppressed_fraction=signed.suppressed.mean(),
        amplified_heads=signed.amplified.sum(),
        excess_bos_correlation=claim.interval("excess_bos_correlation", spearman, excess, mass, layer=census.layer),
        excess_previous_token_correlation=claim.interval(
            "excess_previous_token_correlation", spearman, excess, previous, layer=census.layer
        ),
        median_excess_bits=median(excess),
        suppressed_fraction_one_draw=one_draw.suppressed.mean(),
        amplified_heads_one_draw=one_draw.amplified.sum(),
        **census.certificate_gaps(),
    )


def test_sink_floor(claim, census):
    strong = census.median("bos_mass") >= claim.protocol["strong_sink"]
    claim.judge(
        strong_sink_heads=strong.sum(),
        strong_sink_kreiss=median(census.median("kreiss")[strong]),
        strong_sink_calm_fraction=mean(census.median("transient")[strong] < 3),
    )


def test_interior_growth(claim, census):
    claim.judge(
        growing_heads=census.growing.sum(),
        heads_with_interior_peak=(census.median("k_sup") >= 2).sum(),
        growing_null_fraction=census.null("row_permutation", "grows").mean(),
    )


def test_dominant_mode(claim, census, modes):
    claim.judge(
        growing_heads=census.growing.sum(),
        early_contrast_share=modes.median_share("early_contrast_share", census.growing),
        flat_write_share=modes.median_share("flat_write_share", census.growing),
    )


def test_reserve_is_early(claim, census):
    amplified = census.signed("row_permutation").amplified
    early = (census.layer < (census.layer.max() + 1) / 3).astype(float)

    def surplus(early, amplified):
        return mean(early[amplified]) - mean(early[~amplified])

    claim.judge(
        amplified_heads=amplified.sum(),
        early_surplus=claim.interval("early_surplus", surplus, early, amplified, layer=census.layer),
    )


def test_routing_matched_by_null(claim, census):
    routing = census.median("previous_token_mass") >= claim.protocol["previous_token_score"]
    claim.judge(
        routing_heads=routing.sum(),
        routing_excess_bits=median(np.abs(census.excess("row_permutation"))[routing]),
        routing_radius_difference=median(np.abs(census.radius_difference("row_permutation"))[routing]),
    )


def test_mixing_bound_vacuous(claim, census, residuals):
    routing = census.median("previous_token_mass") >= claim.protocol["previous_token_score"]
    residual = residuals.log10_residual
    heuristic = claim.protocol["length"] * np.log10(census.real["spectral_radius"])
    claim.judge(
        routing_heads=routing.sum(),
        routing_dobrushin=median(census.median("dobrushin")[routing]),
        residual_decades=median(np.median(residual - residuals.log10_norm, axis=0)[routing]),
        rate_error_decades=median(np.median(residual - heuristic, axis=0)[routing]),
    )


def test_damping_beyond_bos_mass(claim, census):
    headroom = census.null_kreiss("bos_preserving") >= claim.protocol["headroom"]
    beyond, total = census.excess("bos_preserving"), census.excess("row_permutation")
    damped = headroom & (total < -0.5)
    share = np.divide(beyond, total, out=np.full_like(total, np.nan), where=damped)
    signed, one_draw = census.signed("bos_preserving"), census.signed_one_draw("bos_preserving")
    claim.judge(
        headroom_heads=headroom.sum(),
        damped_headroom_heads=damped.sum(),
        suppressed_fraction_headroom=mean(signed.suppressed[headroom]),
        damping_share_beyond_bos=claim.interval(
            "damping_share_beyond_bos", median, share[damped], layer=census.layer[damped]
        ),
        suppressed_fraction_headroom_one_draw=mean(one_draw.suppressed[headroom]),
        amplified_headroom_heads=signed.amplified[headroom].sum(),
        median_excess_bits_headroom=median(beyond[headroom]),
    )


def test_reserve_beyond_bos_mass(claim, census):
    headroom = census.null_kreiss("bos_preserving") >= claim.protocol["headroom"]
    excess, previous = census.excess("bos_preserving"), census.median("previous_token_mass")
    claim.judge(
        headroom_heads=headroom.sum(),
        excess_previous_token_correlation=claim.interval(
            "excess_previous_token_correlation",
            spearman,
            excess[headroom],
            previous[headroom],
            layer=census.layer[headroom],
        ),
    )
