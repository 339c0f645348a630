"""The claim schema: the registered files load, and every mistake is named with its place."""

from __future__ import annotations

import subprocess
import sys

import pytest
from registry_builders import edit

from resolvent.errors import ResolventError
from resolvent.registry import SchemaError, check_protocol, load_claim, load_claims
from resolvent.study import Study


def test_all_forty_registered_files_load(project: Study) -> None:
    """The schema was made for these files; none may need an exception."""
    claims = load_claims(project)
    assert len(claims) >= 39
    assert all(claim.name == name for name, claim in claims.items())


def test_criteria_keep_their_order(project: Study) -> None:
    """Reports list the criteria as the claim does."""
    criteria = load_claim(project.prereg / "signed_census.yaml").criteria
    assert list(criteria) == ["sink_majority", "sinks_damp", "routing_reserve", "excess_minority"]


@pytest.mark.parametrize(
    ("old", "new", "place", "found", "allowed"),
    [
        ("claim: signed_census", "claim: other", "claim:", "'other'", "'signed_census'"),
        ("kind: confirmatory", "kind: confirmed", "kind:", "'confirmed'", "confirmatory, post_hoc"),
        ("title:", "titel:", "", "'titel'", "claim, title, source"),
        ("registered: 2026-12-01", "registered: soon", "registered:", "'soon'", "YYYY-MM-DD"),
        ("verdict: all", "verdict: any", "verdict:", "'any'", "all"),
        ("section: 3,", "section: [3],", "source.section:", "[3]", "a number or words"),
        ("{at_least: 0.55}", "{at_lest: 0.55}", "criteria.sink_majority.support:", "'at_lest'", "above, at_least"),
        ("{at_least: 0.55}", "{at_least: high}", "criteria.sink_majority.support.at_least:", "'high'", "a number"),
        ("{at_least: 0.55}", "{at_least: true}", "criteria.sink_majority.support.at_least:", "True", "a number"),
        ("{at_least: 0.55}", "{}", "criteria.sink_majority.support:", "no comparison", "above, at_least"),
        ("{at_least: 0.55}", "{above: 2, below: 1}", "criteria.sink_majority.support:", "no number", ""),
        ("{at_least: 0.55}", "{between: [2, 1]}", "criteria.sink_majority.support:", "[2.0, 1.0]", "lower end"),
        ("{equals: 0}", "{equals: .nan}", "criteria.excess_minority.refute:", "nan", "finite"),
        ("    metric: suppressed_fraction\n", "", "criteria.sink_majority:", "'metric' is missing", "says, metric"),
        (
            "metric: amplified_heads",
            "metric: Two words",
            "criteria.excess_minority.metric:",
            "'Two words'",
            "lower-case",
        ),
        ("over: [heads, layers]", "over: [heads, texts]", "criteria.sinks_damp.interval.over[1]:", "'texts'", "layers"),
        (
            "over: [heads, layers]",
            "over: texts",
            "criteria.sinks_damp.interval.over:",
            "'texts'",
            "allowed: heads, layers",
        ),
        ("kind: confirmatory", "on: confirmatory", "yaml: the key", "true (yes, no, on", "words (quote it)"),
        ("level: 0.95", "level: 95", "criteria.sinks_damp.interval.level:", "95", "between 0 and 1"),
        ("level: 0.95", "level: 1e-3", "", "'1e-3'", "number"),
        ("draws: 2000", "draws: 2.5", "criteria.sinks_damp.interval.draws:", "2.5", "a whole number"),
        (", draws: 2000", "", "criteria.sinks_damp.interval.draws:", "None", "a whole number"),
        ("bound: high", "bound: top", "criteria.sinks_damp.support.bound:", "'top'", "low, high"),
        ("seen: [smollm2-135m]", "seen: smollm2-135m", "seen:", "'smollm2-135m'", "a list"),
        ("trained: {equals", "trainde: {equals", "applies_to.trainde:", "'trainde'", "trained, norm"),
        ("{equals: true}", "{equals: often}", "applies_to.trained:", "'often'", "true or false"),
        ("{equals: true}", "{above: 1}", "applies_to.trained:", "no number", "equals"),
        ("criteria:\n", "criteria:\n  4: {}\n", "criteria:", "4", "words"),
    ],
)
def test_error_names_file_key_found_and_allowed(
    study: Study, old: str, new: str, place: str, found: str, allowed: str
) -> None:
    """A person who writes a claim must learn from the message alone what to mend."""
    path = study.prereg / "signed_census.yaml"
    edit(path, old, new)
    with pytest.raises(ResolventError) as raised:
        load_claim(path)
    message = str(raised.value)
    assert message.startswith(str(path))
    for part in (place, found, allowed):
        assert part in message


def test_duplicate_key_is_refused(study: Study) -> None:
    """YAML keeps the last of two keys, silently: the first criterion would be gone."""
    path = study.prereg / "signed_census.yaml"
    edit(path, "  sinks_damp:", "  sink_majority:")
    with pytest.raises(ResolventError, match="'sink_majority' stands twice"):
        load_claim(path)


def test_number_that_is_a_string_is_refused_in_the_protocol(study: Study) -> None:
    """The protocol is untyped here; a threshold read as a string would fail far away, or not at all."""
    path = study.prereg / "signed_census.yaml"
    edit(path, "  length: 128", "  length: 128\n  tolerance: 1e-3")
    with pytest.raises(ResolventError, match="1e-3"):
        load_claim(path)


def test_overlapping_predicates_are_refused(study: Study) -> None:
    """A number that supports and refutes at once would make the verdict a matter of code order."""
    path = study.prereg / "signed_census.yaml"
    edit(path, "{at_least: 0.55}", "{at_least: 0.45}")
    with pytest.raises(SchemaError, match=r"sink_majority: support '>= 0.45' and refute '<= 0.45' can hold at once"):
        load_claim(path)


def test_overlap_through_an_interval_is_refused(study: Study) -> None:
    """low > -0.3 refutes and low <= -0.2 would support: [-0.25, 0] does both, though the thresholds look apart."""
    path = study.prereg / "signed_census.yaml"
    edit(path, "support: {at_most: -0.3, bound: high}", "support: {at_most: -0.2, bound: low}")
    with pytest.raises(SchemaError, match=r"sinks_damp: .* can hold at once"):
        load_claim(path)


def test_bound_needs_an_interval(study: Study) -> None:
    """A plain number has no ends."""
    path = study.prereg / "signed_census.yaml"
    edit(path, "{at_least: 0.55}", "{at_least: 0.55, bound: low}")
    with pytest.raises(SchemaError, match=r"sink_majority.support: bound: the criterion has no interval"):
        load_claim(path)


def test_protocol_interval_is_resolved(project: Study) -> None:
    """`interval: protocol` points to protocol.interval, which is checked like any other."""
    claim = load_claim(project.prereg / "contest_previous_token.yaml")
    rule = claim.interval_rule("decisive_gain")
    assert rule is not None
    assert (rule.method, rule.groups, rule.level, rule.draws) == ("paired_bootstrap", ("heads", "layers"), 0.975, 4000)


def test_protocol_interval_must_exist(study: Study) -> None:
    """A pointer to nothing is found at loading, not after an hour of evidence."""
    path = study.prereg / "contest_previous_token.yaml"
    edit(path, "\n  interval: {method", "\n  intervall: {method")
    with pytest.raises(SchemaError, match="found 'protocol', but the protocol has no interval"):
        load_claim(path)


def test_undeclared_protocol_key_is_refused(project: Study) -> None:
    """A misspelt protocol key would leave the stage at its default, silently."""
    claim = load_claim(project.prereg / "sink_floor.yaml")
    check_protocol(claim, {"text", "length", "texts", "strong_sink"})
    with pytest.raises(SchemaError, match=r"sink_floor.yaml: protocol: unknown key 'strong_sink'; allowed: length"):
        check_protocol(claim, {"text", "length", "texts"})


@pytest.mark.parametrize("nulls", ["{row_permutation: many}", "{row_permutation: 0}", "row_permutation"])
def test_nulls_that_cannot_be_drawn_are_refused(study: Study, nulls: str) -> None:
    """A shard that fails would say it too late."""
    path = study.prereg / "signed_census.yaml"
    edit(path, "nulls: {row_permutation: 4}", f"nulls: {nulls}")
    with pytest.raises(SchemaError, match=r"signed_census.yaml: protocol.nulls: .*allowed: "):
        load_claim(path)


def test_nulls_that_no_view_of_the_claim_has_are_refused(study: Study) -> None:
    """Which there are is for the views to say: a user's own may have others."""
    path = study.prereg / "signed_census.yaml"
    edit(path, "nulls: {row_permutation: 4}", "nulls: {row_perm: 4}")
    claim = load_claim(path)
    says = "protocol.nulls: unknown null 'row_perm'; allowed: bos_preserving, row_permutation"
    with pytest.raises(SchemaError, match=says):
        check_protocol(claim, set(claim.protocol), {"row_permutation", "bos_preserving"})
    check_protocol(claim, set(claim.protocol))


def test_claims_on_other_architectures_do_not_apply(project: Study) -> None:
    """Outside applies_to is not applicable: neither missing nor refuted."""
    claim = load_claim(project.prereg / "clamping_layernorm.yaml")
    attributes = {"trained": True, "norm": "rmsnorm", "positions": "rope", "layers": 30, "heads": 9, "checkpoints": 0}
    assert not claim.applicable(attributes)
    assert claim.applicable({**attributes, "norm": "layernorm"})


def test_seen_subjects_are_not_blind(project: Study) -> None:
    """A verdict on data that was looked at says so."""
    claim = load_claim(project.prereg / "signed_census.yaml")
    assert not claim.blind("smollm2-135m")
    assert claim.blind("gpt2")


def test_importing_the_registry_stays_light() -> None:
    """Each of 128 workers imports it."""
    heavy = ["numba", "pandas", "pyarrow", "scipy", "sklearn", "torch", "transformers", "statsmodels"]
    code = f"import sys, resolvent.registry; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[]\n"
