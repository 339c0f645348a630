"""Views on planted tables: medians over texts first, then heads; classes and choices as the protocol says."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Result, Shard
from resolvent.evidence.stages.common import TextMaps, null_maps
from resolvent.evidence.views import VIEWS, TooFewTexts, allowed_nulls, view_class
from resolvent.evidence.views.census import Census
from resolvent.evidence.views.chain import Chain
from resolvent.evidence.views.depth import Depth, DepthByState
from resolvent.evidence.views.engagement import Engagement
from resolvent.evidence.views.mask import Mask
from resolvent.evidence.views.tables import HEAD_NULLS
from resolvent.evidence.views.transients import Modes, Residuals
from resolvent.operators import kreiss_from_bos_mass

LAYERS, HEADS, TEXTS = 2, 3, 10
SUBJECT: Any = SimpleNamespace(name="planted", layers=LAYERS, heads=HEADS, corpus="speeches")
COUNT = LAYERS * HEADS
Cells = Callable[[Shard, str, np.ndarray, np.ndarray], np.ndarray]


def loader(columns: dict[str, list[str]], cells: Cells, texts: int = TEXTS) -> Callable[[Shard], Result]:
    """Tables whose cell of (stage, column, text, head) is `cells(shard, column, text, head)`, rows shuffled."""

    def load(shard: Shard) -> Result:
        text = np.arange(shard.params["start"], min(shard.params["stop"], max(texts, 32) if texts >= TEXTS else texts))
        rows, head = (grid.reshape(-1) for grid in np.meshgrid(text, np.arange(COUNT), indexing="ij"))
        order = np.random.default_rng(0).permutation(len(rows))
        rows, head = rows[order], head[order]
        table = {"text": rows, "layer": head // HEADS, "head": head % HEADS}
        for name in columns[shard.stage.name]:
            table[name] = np.asarray(cells(shard, name, rows, head))
        return Result(table)

    return load


BATTERY = ["kreiss", "kreiss_upper", "rho_eps_1e-2", "bos_mass", "transient", "operator_norm", "k_sup"]
NULLS = ["kreiss", "kreiss_upper", "rho_eps_1e-2", "grows"]
CENSUS = {
    "text": "corpus",
    "length": 128,
    "texts": TEXTS,
    "nulls": {"row_permutation": 4},
    "growth_ratio": 1.05,
    "test": {"name": "within_text_rank", "correction": "benjamini_hochberg", "level": 0.05},
}


def census(cells: Cells, protocol: dict[str, Any] = CENSUS, texts: int = TEXTS) -> Census:
    return Census(SUBJECT, None, protocol, loader({"battery": BATTERY, "nulls": NULLS}, cells, texts))  # type: ignore[arg-type]


def constant(values: dict[str, float], null: dict[str, float]) -> Cells:
    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        chosen = values if shard.stage.name == "battery" else null
        return np.full(len(head), chosen.get(name, 1.0))

    return cells


def test_excess_is_bits_per_head_medians_over_texts() -> None:
    """log2 of the real constant minus the mean of log2 over draws; one wild text must not move it."""

    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        if name != "kreiss":
            return np.ones(len(head))
        if shard.stage.name == "nulls":
            return np.full(len(head), 2.0 ** shard.params["draw"])  # log2: 0, 1, 2, 3
        return np.where(text == 3, 1e6, 2.0**head)

    np.testing.assert_allclose(census(cells).excess("row_permutation"), np.arange(COUNT) - 1.5)


def test_heads_are_numbered_layer_by_layer_whatever_the_rows_order() -> None:
    """The loader shuffles rows; a head must get its own column and its own layer."""
    view = census(lambda shard, name, text, head: head + 1.0)
    np.testing.assert_array_equal(view.median("bos_mass"), np.arange(COUNT) + 1.0)
    np.testing.assert_array_equal(view.layer, [0, 0, 0, 1, 1, 1])


def test_the_signed_test_tells_suppressed_from_amplified() -> None:
    """Head 0 lies below every draw in every text, head 1 above, the rest equals its null."""

    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        if shard.stage.name == "nulls" or name != "kreiss":
            return np.full(len(head), 4.0)
        return np.select([head == 0, head == 1], [2.0, 8.0], 4.0)

    signed = census(cells).signed("row_permutation")
    assert signed.suppressed.tolist() == [True] + [False] * 5
    assert signed.amplified.tolist() == [False, True] + [False] * 4


@pytest.mark.parametrize("change", [{}, {"k_sup": 1.0}, {"transient": 10.4}, {"kreiss": 7.9}, {"nulls": 0.06}])
def test_growing_heads_meet_every_condition(change: dict[str, float]) -> None:
    """Each of the four conditions alone must be able to fail a head."""
    values = {"k_sup": 5.0, "transient": 10.6, "operator_norm": 10.0, "kreiss": 9.7, **change}
    if "kreiss" in change:
        values["kreiss"] = 0.89 * values["transient"]
    share = change.get("nulls", 0.0)

    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        if name == "grows":
            return np.random.default_rng(1).random(len(head)) < share
        return np.full(len(head), values.get(name, 1.0))

    expected = not change or (
        "nulls" in change and bool((census(cells).null("row_permutation", "grows").mean(axis=(0, 1)) <= 0.05).all())
    )
    assert census(cells).growing.all() == expected


def test_law_error_is_in_bits_at_each_texts_mass() -> None:
    """K exactly a factor 2^0.2 above the law gives 0.2 bits whatever the masses."""

    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        mass = 0.1 + 0.05 * head + 0.01 * text
        return mass if name == "bos_mass" else 2**0.2 * kreiss_from_bos_mass(mass, 128)

    np.testing.assert_allclose(census(cells).law_error, 0.2, rtol=1e-9)


def test_too_few_texts_are_counted() -> None:
    """The verdict is inestimable with both numbers, not an average over what happens to be there."""
    with pytest.raises(TooFewTexts, match="7 texts, 10 needed") as caught:
        census(constant({}, {}), texts=7)
    assert (caught.value.found, caught.value.asked) == (7, TEXTS)


def test_a_level_out_of_reach_is_inestimable() -> None:
    """One text with one draw has no p below a half, whatever the data."""
    protocol = {**CENSUS, "texts": 1, "nulls": {"row_permutation": 1}}
    with pytest.raises(TooFewTexts, match="1 texts, 6 needed"):
        census(constant({}, {}), protocol).signed("row_permutation")


def test_an_absent_null_is_named() -> None:
    """A claim that asks for a null its protocol doesn't draw is a mistake in the claim."""
    with pytest.raises(ResolventError, match="no null 'dirichlet'; it has: row_permutation"):
        census(constant({}, {})).excess("dirichlet")


def test_an_unknown_column_is_named_with_those_there_are() -> None:
    """A bare KeyError from inside the tables leaves the author of a claim to read our source."""
    view = census(lambda shard, name, text, head: 1.0 + head * 0.0)
    with pytest.raises(ResolventError, match=r"no column 'entropy'; there are: .*kreiss.*bos_mass"):
        view.median("entropy")
    with pytest.raises(ResolventError, match="no column 'entropy'"):
        view.null("row_permutation", "entropy")


@pytest.mark.parametrize("kind", sorted(HEAD_NULLS | {"row_perm"}))
def test_the_kinds_of_null_that_views_allow_are_those_that_the_stage_draws(kind: str) -> None:
    """Two lists, one of them in evidence that must not change with its readers."""
    maps = np.tril(np.ones((1, 1, 4, 4)))
    text = TextMaps(0, "a", maps / maps.sum(axis=-1, keepdims=True))
    call: Any = SimpleNamespace(seed=1, subject=SUBJECT, params={"checkpoint": "final", "state": "corpus"})
    if kind in HEAD_NULLS:
        assert null_maps(call, text, kind, 0).shape == maps.shape
    else:
        with pytest.raises(ResolventError) as raised:
            null_maps(call, text, kind, 0)
        assert set(str(raised.value).partition("allowed: ")[2].split(", ")) == HEAD_NULLS


@pytest.mark.parametrize("name", VIEWS)
def test_views_that_take_nulls_say_which(name: str) -> None:
    """Else a misspelt kind is found in the first shard only."""
    view: Any = view_class(name, VIEWS[name])
    assert hasattr(view, "null_kinds") == ("nulls" in view.protocol_keys)


def test_claims_with_several_views_may_use_what_all_take() -> None:
    """A kind that one of them can't draw fails there."""
    assert allowed_nulls([Census, Chain]) == {"row_permutation"}
    assert allowed_nulls([Residuals]) is None
    assert allowed_nulls([Census, Depth]) == set()


@pytest.mark.parametrize("place", ["nowhere:Class", "resolvent.errors:Nobody", "resolvent.errors", ":x", "a:"])
def test_a_path_that_leads_nowhere_is_named(place: str) -> None:
    """Somebody's slip in a conftest.py, not a fault of this library."""
    with pytest.raises(ResolventError, match=f"view 'mine': .*{place}"):
        view_class("mine", place)


def test_open_certificates_are_counted() -> None:
    """A null whose plateau outlasted the budget must be seen in the report."""

    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        open_one = (shard.stage.name == "nulls") & (head == 0) & (name == "kreiss_upper")
        return np.where(open_one, 1.001, 1.0)

    assert census(cells).certificate_gaps() == {"largest_kreiss_gap": 0.0, "open_null_fraction": 1 / COUNT}


def test_mask_counts_real_and_null_matrices() -> None:
    """The theorem is claimed for every matrix, so no kind may be left out."""
    protocol = {**CENSUS, "nulls": {"row_permutation": 1, "dirichlet": 1}, "stack": "head_mean"}

    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        if name == "absorbing_rows":
            return ((shard.params["kind"] == "dirichlet") & (head == 1) & (text == 0)).astype(float)
        return np.full(len(head), {"real": 1.0, "row_permutation": 2.0, "dirichlet": 3.0}[shard.params["kind"]])

    columns = ["saturation_error", "power_identity_error", "absorbing_rows", "product_identity_error"]
    view = Mask(SUBJECT, None, protocol, loader({"mask": columns}, cells))  # type: ignore[arg-type]
    assert view.saturation_error.size == 3 * TEXTS * COUNT
    assert view.absorbing.sum() == 1
    assert view.product_identity_error.max() == 1.0


def test_chain_takes_the_smallest_hashes_over_all_shards() -> None:
    """Each shard evaluates its own smallest; the frozen choice is over all of them."""
    protocol = {
        "text": "corpus",
        "length": 128,
        "texts": TEXTS,
        "nulls": {"row_permutation": 1},
        "angles": 4,
        "radii": [1.1],
        "off_axis_matrices": 3,
        "off_axis_choice": "smallest_hash",
    }

    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        key = (text * COUNT + head) * 2 + (shard.params["kind"] == "real")
        return key if name in ("hash", "off_axis_excess") else np.ones(len(head))

    columns = ["bracket_violation", "ceiling_ratio", "floor_ratio", "hash", "off_axis_excess"]
    view = Chain(SUBJECT, None, protocol, loader({"chain": columns}, cells))  # type: ignore[arg-type]
    assert sorted(view.off_axis_excess) == [0, 1, 2]


def test_engagement_scores_come_from_probes_of_their_own() -> None:
    """A class chosen on the measured probes would be tested on the data it was chosen on."""
    protocol = {
        "text": ["corpus", "repeat_probe"],
        "repeat": 64,
        "length": 129,
        "texts": TEXTS,
        "score_texts": 8,
        "nulls": {"row_permutation": 2},
        "classes": {"induction": 0.4},
    }

    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        if name == "induction_score":
            return np.where(text >= 32, head / 5, 1.0 - head / 5)
        if name == "kreiss" and shard.stage.name == "battery" and shard.params["state"] == "repeat_probe":
            return 2.0**head
        return np.ones(len(head))

    columns = {
        "battery": [*BATTERY, "previous_token_mass"],
        "nulls": NULLS,
        "behaviour": ["induction_score", "duplicate_token_score", "loss_drop"],
    }
    protocol["length"] = 121
    load = loader(columns, cells)

    def with_probes(shard: Shard) -> Result:
        if shard.params["start"] < 32:
            return load(shard)
        text, head = (g.reshape(-1) for g in np.meshgrid(np.arange(32, 40), np.arange(COUNT), indexing="ij"))
        table = {"text": text, "layer": head // HEADS, "head": head % HEADS}
        return Result({**table, **{name: cells(shard, name, text, head) for name in columns[shard.stage.name]}})

    view = Engagement(SUBJECT, None, protocol, with_probes)  # type: ignore[arg-type]
    np.testing.assert_allclose(view.induction_score, np.arange(COUNT) / 5)
    assert view.in_class("induction").tolist() == [False, False, True, True, True, True]
    np.testing.assert_allclose(view.excess_change("row_permutation"), np.arange(COUNT))


def products(shard: Shard, name: str, text: np.ndarray, depth: np.ndarray) -> np.ndarray:
    kind, draw = shard.params["kind"], shard.params["draw"]
    slope = {"real": 3.0, "rollout": 0.5, "layer_permutation": 1.0 + draw}[kind]
    return {"log10_deviation": -depth, "log10_eigenvalue": -depth - slope * depth, "log10_norm": 0 * depth}[name] * 1.0


def depth_loader(shard: Shard) -> Result:
    text, depth = (
        g.reshape(-1)
        for g in np.meshgrid(np.arange(shard.params["start"], shard.params["stop"]), [1, 2], indexing="ij")
    )
    names = ("log10_deviation", "log10_eigenvalue", "log10_norm")
    return Result({"text": text, "depth": depth, **{name: products(shard, name, text, depth) for name in names}})


def test_depth_gaps_are_decades_at_every_depth() -> None:
    """Column L - 1 is depth L; null gaps are means over draws."""
    protocol = {
        "text": "corpus",
        "length": 128,
        "texts": TEXTS,
        "nulls": {"layer_permutation": 2},
        "baseline": "uniform_attention",
    }
    view = Depth(SUBJECT, None, protocol, depth_loader)  # type: ignore[arg-type]
    np.testing.assert_allclose(np.median(view.real.gap, axis=0), [3.0, 6.0])
    np.testing.assert_allclose(view.null_gap("layer_permutation")[0], [1.5, 3.0])
    np.testing.assert_allclose(view.rollout.gap[:, -1], 1.0)
    assert view.baseline_gap.shape == (LAYERS,)
    by_state = DepthByState(SUBJECT, None, {**protocol, "text": ["corpus"]}, depth_loader)  # type: ignore[arg-type]
    np.testing.assert_allclose(by_state["corpus"].gap[:, -1], 6.0)


def test_modes_are_medians_over_growing_heads_and_their_interior_texts() -> None:
    """Texts without an interior peak have no mode and are left out; no mode at all is NaN."""

    def cells(shard: Shard, name: str, text: np.ndarray, head: np.ndarray) -> np.ndarray:
        return np.where((head == 2) & (text < 3), 0.5 + 0.1 * text, np.nan)

    columns = {"modes": ["early_contrast_share", "flat_write_share"]}
    view = Modes(SUBJECT, None, CENSUS, loader(columns, cells))  # type: ignore[arg-type]
    assert view.median_share("early_contrast_share", np.arange(COUNT) == 2) == pytest.approx(0.6)
    assert np.isnan(view.median_share("flat_write_share", np.arange(COUNT) == 1))


def test_residuals_keep_texts_and_heads_apart() -> None:
    """(texts, heads), so that medians over texts come first."""
    cells: Cells = lambda shard, name, text, head: text + 10.0 * head  # noqa: E731
    view = Residuals(SUBJECT, None, CENSUS, loader({"residuals": ["log10_norm", "log10_residual"]}, cells))  # type: ignore[arg-type]
    assert view.log10_residual.shape == (TEXTS, COUNT)
    assert view.log10_residual[4, 3] == 34
