"""Published values: shown beside ours, so they must load and point to something."""

from __future__ import annotations

from pathlib import Path

import pytest
from registry_builders import edit

from resolvent.registry import SchemaError, load_claim, published
from resolvent.study import Study

MODELS = {None, "gpt2", "pythia-410m", "pythia-160m", "llama-3-8b"}


def test_published_files_load_and_name_known_claims_and_models(project: Study) -> None:
    """A value under a misspelt model or claim would never be shown."""
    paths = sorted((project.prereg / "published").glob("*.yaml"))
    assert paths
    for path in paths:
        claim = load_claim(project.prereg / f"{path.stem}.yaml")
        values = published(project, claim.name)
        assert {value.subject for value in values} <= MODELS
        assert all(value.metric is None or value.metric.isidentifier() for value in values)


def test_census_shows_its_published_fractions(project: Study) -> None:
    """The paper's section 3."""
    fractions = {v.subject: v.value for v in published(project, "signed_census") if v.metric == "suppressed_fraction"}
    assert fractions == {"gpt2": 0.86, "pythia-410m": 0.86, "llama-3-8b": 0.997}


def test_nothing_published_is_an_empty_list(project: Study) -> None:
    """Our own claims have no published value."""
    assert published(project, "killed_chain") == []


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("value: 0.86", "", r"values\[0\]: neither value"),
        ("value: 0.86", "valeu: 0.86", "unknown key 'valeu'"),
        ("claim: signed_census", "claim: census", "allowed: 'signed_census'"),
    ],
)
def test_mistakes_are_named(study: Study, project: Study, old: str, new: str, named: str) -> None:
    """The files are written by hand."""
    path: Path = study.prereg / "published" / "signed_census.yaml"
    path.parent.mkdir()
    source = project.prereg / "published" / "signed_census.yaml"
    path.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    edit(path, old, new)
    with pytest.raises(SchemaError, match=named):
        published(study, "signed_census")
