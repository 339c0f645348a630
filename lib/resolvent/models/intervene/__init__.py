"""Interventions on a model while it runs, one a file: context managers that register hooks and take them away again.

heads      heads silenced before the output projection

Each yields a receipt of what it changed, measured; at the end of the `with` zero effect is an error. They compose:
enter several, the outer one acts first where two meet. Measure inside them with `models.capture` as usual.
`hooks` and `receipts` are what they share. Begin reading in `heads`.
"""
