"""What the causal mask forces on every attention matrix, learned or random."""

import numpy as np


def test_mask_saturation(claim, mask):
    simple = ~mask.absorbing
    claim.judge(
        saturation_error=mask.saturation_error[simple].max(initial=0.0),
        power_identity_error=mask.power_identity_error.max(),
        product_identity_error=mask.product_identity_error.max(),
        simple_eigenvalue_fraction=simple.mean(),
        matrices=simple.size,
        absorbing_matrices=mask.absorbing.sum(),
        saturation_error_of_absorbing=mask.saturation_error[~simple].max(initial=0.0),
    )


def test_killed_chain(claim, chain):
    claim.judge(
        survival_bracket_violation=chain.bracket_violation.max(),
        ceiling_ratio=chain.ceiling_ratio.max(),
        floor_ratio=chain.floor_ratio.min(),
        off_axis_excess=chain.off_axis_excess.max(),
        matrices=chain.ceiling_ratio.size,
        off_axis_matrices=np.isfinite(chain.off_axis_excess).sum(),
    )
