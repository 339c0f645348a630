"""Figures: pure functions from data to panels, one figure a file, and panels to matplotlib Figures.

    panel          Panel, its Figure, its inline SVG; axis: tick labels
    palette        the colours, by role; a page swaps them for its own, light or dark
    criterion      value, interval, and the support and refute regions of one criterion
    signed_census, bos_mass_law, transient, portrait, depth, state_change, identities, attention
                   drawn from the evidence store
    trajectories, clamping, contest
                   drawn from plain arrays and metrics
    from_evidence  views -> the data of a figure
    named          names -> figures, for the command line and the report

A figure's data is a frozen dataclass of arrays; its function returns panels of about 340 × 260 px, which a page sets
side by side or one below the other. matplotlib is imported inside functions only. Begin with `panel`.
"""
