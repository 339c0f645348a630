"""Interventions: what massive activations do to the sink, to its damping and to the compression valley."""

from resolvent.statistics import median, ratio


def test_massive_timing(claim, residual_stream):
    claim.judge(
        massive_ratio=residual_stream.boundaries.massive_ratio,
        base_bos_attention=residual_stream.mean_bos_attention,
        sink_jump=median(residual_stream.sink_jump),
        massive_lead_layers=median(residual_stream.sink_onset - residual_stream.massive_onset),
        massive_onset_layer=median(residual_stream.massive_onset),
        sink_onset_layer=median(residual_stream.sink_onset),
    )


def test_clamping_rmsnorm(claim, clamping):
    claim.judge(**clamping_metrics(clamping))


def test_clamping_layernorm(claim, clamping):
    claim.judge(**clamping_metrics(clamping))


def clamping_metrics(clamping):
    clamped, also, controls = clamping.clamped, clamping.also, clamping.controls
    return {
        "base_bos_attention": clamping.base.bos_attention,
        "massive_ratio": clamping.boundaries.massive_ratio,
        "bos_attention_drop": clamped.bos_attention_drop,
        "kreiss_ratio": clamped.kreiss_ratio,
        "stripe_change": clamped.stripe_change,
        "entropy_rise_nats": clamped.entropy_rise_nats,
        "loss_rise_nats": clamped.loss_rise_nats,
        "control_loss_share": ratio(max(control.loss_rise_nats for control in controls), clamped.loss_rise_nats),
        "control_kreiss_ratio": max(max(control.kreiss_ratio, 1 / control.kreiss_ratio) for control in controls),
        "base_kreiss": clamping.base.kreiss,
        "bos_attention_drop_at_boundary_median": also.bos_attention_drop,
        "kreiss_ratio_at_boundary_median": also.kreiss_ratio,
        "loss_rise_nats_at_boundary_median": also.loss_rise_nats,
    }
