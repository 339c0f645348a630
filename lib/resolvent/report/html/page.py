"""What stands on report.html, as plain data: no HTML, no study, no evidence."""

from __future__ import annotations

from dataclasses import dataclass

from resolvent.registry import PublishedValue, RequirementResult
from resolvent.report.html.outcome import Look
from resolvent.report.subject_words import SubjectWords
from resolvent.report.tally import Tally


@dataclass(frozen=True)
class Picture:
    """A figure on the page. svg: the element; caption: what it shows, with the numbers that matter."""

    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix; `href` is the id of the section that it leads to."""

    look: Look
    href: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One claim of the matrix; cells in the order of the page's subjects."""

    claim: str
    title: str
    kind: str
    href: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Rows of a kind: findings, theorems, unregistered drafts."""

    title: str
    note: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class CriterionView:
    """A judged criterion.

    value, margin   in words
    side            `supports`, `refutes` or `neither`
    near            why it is near a threshold, or empty
    picture         dot and interval against the regions
    """

    name: str
    metric: str
    says: str
    value: str
    support: str
    refute: str
    margin: str
    side: str
    near: str
    picture: Picture


@dataclass(frozen=True)
class VerdictView:
    """A claim on one subject.

    computed, recorded   verdicts in words
    figure_note          why there is no figure; empty where there is one
    also                 (metric, value) measured without a criterion
    """

    id: str
    subject: SubjectWords
    look: Look
    flags: tuple[str, ...]
    computed: str
    recorded: str
    exploratory: tuple[str, ...] = ()
    requirements: tuple[RequirementResult, ...] = ()
    criteria: tuple[CriterionView, ...] = ()
    also: tuple[tuple[str, str], ...] = ()
    figures: tuple[Picture, ...] = ()
    figure_note: str = ""
    exclusions: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class PublishedView:
    """A number of a paper; `ours`: the same metric in this run, by subject."""

    entry: PublishedValue
    reported: str
    ours: str


@dataclass(frozen=True)
class AmendmentView:
    """A superseded version: when and why, and the verdicts it had, by subject, beside those of now."""

    date: str
    reason: str
    before: str
    after: str


@dataclass(frozen=True)
class Section:
    """One claim. `frozen` are the criteria as registered, for subjects without a verdict."""

    id: str
    claim: str
    title: str
    kind: str
    source: str
    registered: str
    hypothesis: str
    prior_knowledge: str
    protocol: str
    published: tuple[PublishedView, ...] = ()
    amendments: tuple[AmendmentView, ...] = ()
    verdicts: tuple[VerdictView, ...] = ()


@dataclass(frozen=True)
class Page:
    """The whole report.

    state    COMPLETE, PARTIAL, INCOMPLETE or EXPLORATORY; more than one where more than one holds
    stamps   sentences that explain the state
    facts    (name, value) of the provenance at the head of the page
    drafts   unregistered claims of the study: named at the end, never counted
    """

    run: str
    began: str
    state: tuple[str, ...]
    stamps: tuple[str, ...]
    tallies: tuple[Tally, ...]
    facts: tuple[tuple[str, str], ...]
    subjects: tuple[SubjectWords, ...]
    groups: tuple[Group, ...]
    sections: tuple[Section, ...]
    provenance: tuple[tuple[str, str], ...] = ()
    drafts: tuple[str, ...] = ()
