"""Interventions on a model while it runs, one a file: context managers that register hooks and take them away again.

heads           heads silenced before the output projection
clamp           dims of the residual stream held at a value, at every boundary
bos_mlp         the MLP's contribution to position 0 scaled down or removed
singular_values  the spectrum of a block's output edited, its token mean and singular subspaces kept

Each yields a receipt of what it changed, measured; at the end of the `with` zero effect is an error. They compose:
enter several, the outer one acts first where two meet. Measure inside them with `models.capture` as usual.
`hooks` and `receipts` are what they share. Begin reading in `heads`.
"""
