"""What the papers reported, per claim and model: prereg/published/<claim>.yaml. Shown beside ours, decides nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from resolvent.registry.typed import SchemaError, typed
from resolvent.strict_yaml import read_yaml
from resolvent.study import Study

_Text = Annotated[str, msgspec.Meta(min_length=1)]


class PublishedValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number, or one statement, of a paper.

    subject   our name of the model; None where the statement is about all of the paper's models
    says      what was measured, in words
    where     section, table or figure
    metric    our metric that measures the same, where there is one
    value     the number; `low`, `high`: the ends where the paper gives a range or an interval
    words     the paper's words, where it gives no number
    verdict   the verdict the paper states itself or that its words amount to
    """

    says: _Text
    where: _Text
    subject: _Text | None = None
    metric: _Text | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    words: _Text | None = None
    verdict: Literal["supported", "refuted", "undecided"] | None = None


class _PublishedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim: _Text
    paper: _Text
    values: tuple[PublishedValue, ...]
    note: _Text | None = None


def published_file(study: Study, claim: str) -> Path:
    """Where the published values of a claim stand."""
    return study.prereg / "published" / f"{claim}.yaml"


def published(study: Study, claim: str) -> list[PublishedValue]:
    """The published values of a claim in the file's order; empty where nothing was published.

    Raises YamlError and SchemaError, also for an entry that holds neither a number nor words.
    """
    path = published_file(study, claim)
    if not path.exists():
        return []
    content = typed(read_yaml(path), _PublishedFile, file=str(path))
    if content.claim != claim:
        raise SchemaError(f"{path}: claim: found '{content.claim}'; allowed: '{claim}', the name of the file")
    for index, entry in enumerate(content.values):
        if entry.words is None and entry.value is None and entry.low is None and entry.high is None:
            raise SchemaError(f"{path}: values[{index}]: neither value, low, high nor words")
    return list(content.values)
