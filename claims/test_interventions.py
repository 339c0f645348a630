"""Interventions: what massive activations do to the sink, to its damping and to the compression valley."""

from resolvent.statistics import median


def test_massive_timing(claim, residual_stream):
    claim.judge(
        massive_ratio=residual_stream.boundaries.massive_ratio,
        base_bos_attention=residual_stream.mean_bos_attention,
        sink_jump=median(residual_stream.sink_jump),
        massive_lead_layers=median(residual_stream.sink_onset - residual_stream.massive_onset),
        massive_onset_layer=median(residual_stream.massive_onset),
        sink_onset_layer=median(residual_stream.sink_onset),
    )
