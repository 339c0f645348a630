"""Every figure on planted arrays: what is planted is what is drawn, and what is said."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from resolvent.operators import kreiss_from_bos_mass
from resolvent.report.figures.attention import AttentionData, attention
from resolvent.report.figures.bos_mass_law import BosMassLawData, bos_mass_law
from resolvent.report.figures.clamping import ClampingData, bars_of_metrics, clamping
from resolvent.report.figures.contest import PredictionsData, contest, contest_data, predictions
from resolvent.report.figures.depth import DepthData, depth
from resolvent.report.figures.identities import IdentitiesData, identities
from resolvent.report.figures.panel import figure_of, inline_svg
from resolvent.report.figures.portrait import PortraitData, grid, portrait
from resolvent.report.figures.signed_census import SignedCensusData, signed_census
from resolvent.report.figures.state_change import StateChangeData, state_change
from resolvent.report.figures.trajectories import TrajectoriesData, trajectories
from resolvent.report.figures.transient import TransientData, transient

LAYERS, HEADS = 3, 4


def axes_of(panel):
    axes = Figure().add_subplot()
    panel.draw(axes)
    return axes


def points(axes):
    """All drawn points, sorted."""
    drawn = [np.column_stack([line.get_xdata(), line.get_ydata()]) for line in axes.lines]
    return {tuple(np.round(point, 9)) for part in drawn for point in part.astype(float)}


@pytest.fixture
def census():
    mass = np.linspace(0.05, 0.9, LAYERS * HEADS)
    excess = 0.5 - 3 * mass
    return SignedCensusData(
        layers=LAYERS,
        excess=excess,
        suppressed=excess < -0.2,
        amplified=excess > 0.2,
        previous_token=mass[::-1],
        bos_mass=mass,
        law_excess=excess - 0.1,
        null="row_permutation",
    )


def test_census_map_has_layers_as_rows(census):
    """Cell (layer, head) holds that head's excess, the scale is symmetric about 0."""
    axes = axes_of(signed_census(census)[0])
    (image,) = axes.images
    assert np.array_equal(image.get_array(), census.excess.reshape(LAYERS, HEADS))
    low, high = image.get_clim()
    assert low == -high


def test_census_scatters_every_head_once(census):
    """No class may swallow a head, and the counts are said."""
    _, score, mass = signed_census(census)
    wanted = {tuple(np.round(pair, 9)) for pair in zip(census.previous_token, census.excess, strict=True)}
    assert wanted <= points(axes_of(score))
    law = {tuple(np.round(pair, 9)) for pair in zip(census.bos_mass, census.law_excess, strict=True)}
    assert law <= points(axes_of(mass))
    assert f"{census.suppressed.sum()} of 12 heads significantly below" in score.description
    assert "predicted by BOS mass alone" in mass.description


def test_the_law_s_curve_is_the_closed_form():
    """The one picture that says what K_dev measures: the curve is computed, not fitted."""
    mass = np.array([0.2, 0.6])
    data = BosMassLawData(bos_mass=mass, kreiss=np.array([5.0, 2.0]), error=np.array([0.1, 0.4]), length=128)
    law, errors = bos_mass_law(data)
    curve = axes_of(law).lines[0]
    assert np.allclose(curve.get_ydata(), kreiss_from_bos_mass(curve.get_xdata(), 128))
    assert "of 1 of them" in law.description
    assert (0.6, 0.4) in points(axes_of(errors))


def test_transients_show_the_ceiling_and_the_peak():
    """sup ||A_dev^k|| is at most sqrt(2(n - 1))."""
    powers = np.array([1, 2, 4, 8])
    norms = np.log10([[1.0, 4.0, 9.0, 2.0], [0.5, 0.1, 1e-3, 1e-200]])
    data = TransientData(powers=powers, log10_norm=norms, labels=("0.0, grows", "0.1"), length=51)
    (panel,) = transient(data)
    assert data.ceiling == 10
    assert "0.0, grows: largest 9 at k = 4" in panel.description
    heights = [line.get_ydata()[0] for line in axes_of(panel).lines[:1]]
    assert heights == [10]


def test_a_portrait_is_symmetric_and_marks_its_point():
    """The Kreiss constant is attained on the positive real axis."""
    x, y = grid(11)
    full = np.concatenate([-y[:0:-1], y])
    sigma = np.log10(np.abs(x[None, :] + 1j * full[:, None] - 0.5) + 1e-9)
    data = PortraitData(x, full, sigma, np.array([0.0, 0.5]), 1.5, 1.2, "m 0.1")
    (panel,) = portrait(data)
    assert "K_dev = 1.5, attained at r = 1.2" in panel.description
    assert (1.2, 0.0) in points(axes_of(panel))
    damped = PortraitData(x, full, sigma, np.array([0.0, 0.5]), 1.0, np.inf, "m 0.2")
    assert "attained at infinity" in portrait(damped)[0].description


def test_depth_products_are_medians_over_texts():
    """D, E and N at every depth, and their nulls."""
    texts = np.array([[0.0, -1.0], [0.0, -2.0], [0.0, -6.0]])
    data = DepthData(
        deviation=texts, eigenvalue=texts - 3, norm=texts + 5, null_gap={"layer_permutation": texts + 1},
        null_deviation={"layer_permutation": texts - 1}, rollout_deviation=texts + 0.5, baseline_gap=np.array([1.0, 2]),
    )  # fmt: skip
    products, gap = depth(data)
    assert {(2.0, -2.0), (2.0, -5.0), (2.0, 3.0), (2.0, -3.0), (2.0, -1.5)} <= points(axes_of(products))
    assert "log10(D/E) at depth 2: 3 (median over texts); layer permutation -1" in gap.description
    assert {(2.0, 3.0), (2.0, -1.0), (2.0, 2.0)} <= points(axes_of(gap))


def test_a_product_of_exactly_zero_can_be_drawn():
    """log10 D = -inf is a real value."""
    texts = np.array([[0.0, -np.inf], [0.0, -np.inf]])
    with np.errstate(invalid="ignore"):
        figure_of(depth(DepthData(deviation=texts, eigenvalue=texts, norm=texts)))


def test_state_change_says_what_bos_mass_alone_would_do():
    """The gain of the class, and the law's gain beside it."""
    data = StateChangeData(
        before=np.array([1.0, 2.0, 4.0]),
        after=np.array([4.0, 2.0, 4.0]),
        states=("corpus", "repeat_probe"),
        change=np.array([2.0, 0.0, 0.1]),
        law_change=np.array([1.5, 0.0, 0.0]),
        score=np.array([0.9, 0.1, 0.0]),
        in_class=np.array([True, False, False]),
        score_name="induction",
        null="row_permutation",
    )
    states, score, law = state_change(data)
    gains = "a median of 2 bits from corpus to repeat probe, and by 1.5 bits if BOS mass alone decided"
    assert gains in law.description
    assert (1.0, 4.0) in points(axes_of(states))
    assert (0.9, 2.0) in points(axes_of(score))
    assert (1.5, 2.0) in points(axes_of(law))


def test_trajectories_keep_the_untrained_checkpoint():
    """0 tokens have a place on the axis, and a crossing has a ring."""
    tokens = np.array([0.0, 1e6, 1e7, 1e8])
    data = TrajectoriesData(
        tokens=tokens,
        lines={"all": np.array([0.0, -0.1, -1.0, -2.0]), "some": np.array([np.nan, 0.0, 1.0, 1.0])},
        quantity="median excess, bits",
        bands={"all": (np.full(4, -2.5), np.zeros(4))},
        crossings={"all": 2, "some": None},
    )
    (panel,) = trajectories(data)
    axes = axes_of(panel)
    assert (0.0, 0.0) in points(axes)
    rings = [line for line in axes.lines if line.get_fillstyle() == "none"]
    assert [tuple(line.get_xdata()) for line in rings] == [(1e7,)]
    assert "all: 0 at first, -2 at last, crosses at 10 M tokens" in panel.description


def test_bars_have_the_planted_heights():
    """Base, treated, and the median of the controls with each of them as a point."""
    data = ClampingData("K_dev", 1.4, 7.4, np.array([1.3, 1.5, 1.6]))
    (panel,) = clamping([data])
    axes = axes_of(panel)
    assert [round(bar.get_height(), 9) for bar in axes.patches] == [1.4, 7.4, 1.5]
    assert {1.3, 1.5, 1.6} <= {y for _, y in points(axes)}
    assert "random controls 1.3 to 1.6" in panel.description
    assert len(axes_of(clamping([ClampingData("loss", 1.0, 2.0, np.empty(0))])[0]).patches) == 2


def test_intervention_metrics_become_bars_on_the_model_s_own_scale():
    """A drop is turned back into attention, a ratio into K_dev; what was not measured has no bar."""
    metrics = {
        "base_bos_attention": 0.5,
        "bos_attention_drop": 0.9,
        "base_kreiss": 2.0,
        "kreiss_ratio": 3.5,
        "loss_rise_nats": 4.0,
        "control_loss_share": 0.05,
    }
    bars = bars_of_metrics(metrics, "clamped")
    found = {bar.quantity: (bar.base, bar.treated, bar.controls.tolist()) for bar in bars}
    assert found == {
        "mean BOS attention": (0.5, pytest.approx(0.05), []),
        "median K_dev": (2.0, 7.0, []),
        "rise of loss, nats": (0.0, 4.0, [pytest.approx(0.2)]),
    }
    ablated = bars_of_metrics(
        {"base_sink_rate": 0.8, "sink_rate_ratio": 0.25, "control_sink_rate_ratio": 0.5}, "ablated"
    )
    assert [(bar.quantity, bar.treated, bar.controls.tolist(), bar.treatment) for bar in ablated] == [
        ("sink rate", 0.2, [0.4], "ablated")
    ]
    assert bars_of_metrics({}, "clamped") == []


def test_contest_rows_are_the_metrics_that_are_there():
    """By their names in verdicts.jsonl; what a subject lacks is left out."""
    metrics = {
        "gain_p_over_e_standardised": 0.05,
        "gain_p_over_e_standardised.low": 0.01,
        "gain_p_over_e_standardised.high": 0.09,
        "r2_e_rank_normal_unseen_layers": 0.4,
        "total_heads": 270.0,
    }
    data = contest_data(metrics)
    assert [(row.label, row.value, row.low, row.high) for row in data.gains] == [
        ("P − E, standardised, unseen heads", 0.05, 0.01, 0.09)
    ]
    assert [(row.label, row.low) for row in data.scores] == [("E, spectral, rank-normal, unseen layers", None)]
    gain, score = contest(data, relevant=0.02)
    assert (0.02, 0.0) in points(axes_of(gain))
    assert "0.05 [0.01, 0.09]" in gain.description
    assert {(0.01, 0.0), (0.09, 0.0)} <= points(axes_of(gain))
    assert (0.4, 0.0) in points(axes_of(score))
    assert contest(contest_data({})) == ()


def test_predictions_are_drawn_against_what_is_true():
    data = PredictionsData(np.array([0.1, 0.7]), np.array([0.2, 0.6]), "E+P", "attention to the previous token", 2)
    panel = predictions(data)
    assert "2 heads, attention to the previous token: predicted by E∪P" in panel.description
    assert {(0.1, 0.2), (0.7, 0.6)} <= points(axes_of(panel))


def test_identities_count_what_is_above_the_tolerance():
    """Exact zeros have a place on a logarithmic axis."""
    data = IdentitiesData({"error": np.array([0.0, 1e-14, 1e-3])}, {"error": 1e-6})
    (panel,) = identities(data)
    assert "3 matrices, largest error 0.001, tolerance 1e-06, 1 above it" in panel.description
    assert sum(bar.get_height() for bar in axes_of(panel).patches) == 3


def test_attention_maps_hide_the_future_and_say_the_masses():
    """Above the diagonal there is nothing to see."""
    matrix = np.tril(np.ones((4, 4)))
    matrix /= matrix.sum(axis=1, keepdims=True)
    (panel,) = attention(AttentionData(matrix[None], ("4.11",), "text 7"))
    (image,) = axes_of(panel).images
    assert np.array_equal(np.ma.getmaskarray(image.get_array()), np.triu(np.ones((4, 4)), 1) > 0)
    assert "head 4.11 on text 7: mean attention 0.3611 to BOS" in panel.description


def test_every_panel_becomes_svg(census):
    """Nothing that a page can't hold."""
    for index, panel in enumerate(signed_census(census)):
        assert inline_svg(panel, f"p{index}").endswith("</svg>\n")
