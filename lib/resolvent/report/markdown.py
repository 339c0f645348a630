"""report.md: every verdict of a run, positives and negatives in equal detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError
from resolvent.registry import Claim, amendments, load_claim, published
from resolvent.report.criteria_table import further_metrics, side
from resolvent.report.numbers import number, signed, with_interval
from resolvent.report.subject_words import subject_words
from resolvent.report.terminal import kinds, tally
from resolvent.report.verdict_line import VerdictLine

if TYPE_CHECKING:
    from resolvent.models.subjects import StudySubjects
    from resolvent.study import Study

_KIND_TITLES = {
    "confirmatory": "Confirmatory claims",
    "post_hoc": "Post hoc claims",
    "exploratory": "Exploratory claims",
    "theorem": "Theorems (they guard the numerics)",
}


def markdown_report(
    study: Study, subjects: StudySubjects, lines: Sequence[VerdictLine], facts: Mapping[str, Any]
) -> str:
    """The report of a run.

    lines  in the order of claims and subjects; `facts` is the content of provenance.json
    """
    parts = ["# Verdicts", *_stamps(facts), tally(lines) + ".", *_matrix(lines), *_subjects(subjects, lines, facts)]
    for kind, title in _KIND_TITLES.items():
        of_kind = [line for line in lines if line.kind == kind]
        if of_kind:
            parts.append(f"## {title}")
        for claim in dict.fromkeys(line.pair[0] for line in of_kind):
            parts += _claim(study, claim, [line for line in of_kind if line.pair[0] == claim])
    return "\n\n".join([*parts, *_drafts(facts), *_origin(facts)]) + "\n"


def _stamps(facts: Mapping[str, Any]) -> list[str]:
    stamps = []
    if facts.get("partial"):
        stamps.append("**PARTIAL**: a part of the study was selected, or the run ended early.")
    if facts.get("exploratory"):
        stamps.append("**EXPLORATORY**: made under other conditions than the registered ones; it decides nothing.")
    if facts.get("incomplete"):
        pairs = ", ".join(f"{claim} on {subject}" for claim, subject in facts["incomplete"])
        stamps.append(f"**INCOMPLETE**: no verdict for {pairs}.")
    if facts.get("unavailable"):
        stamps.append("**UNAVAILABLE**: " + "; ".join(facts["unavailable"].values()) + ".")
    if facts.get("drafts"):
        stamps.append(f"Unregistered drafts, not counted: {len(facts['drafts'])} (listed at the end).")
    return stamps


def _matrix(lines: Sequence[VerdictLine]) -> list[str]:
    if not lines:
        return []
    subjects = list(dict.fromkeys(line.pair[1] for line in lines))
    cells = {line.pair: line for line in lines}
    rows = []
    for claim in dict.fromkeys(line.pair[0] for line in lines):
        present = [cells[claim, subject] for subject in subjects if (claim, subject) in cells]
        words = [cells[claim, subject].shown.word if (claim, subject) in cells else "–" for subject in subjects]
        rows.append([claim, present[0].title, *words, kinds(present)])
    return [_table(["claim", "title", *subjects, "kind"], rows)]


def _subjects(subjects: StudySubjects, lines: Sequence[VerdictLine], facts: Mapping[str, Any]) -> list[str]:
    return [words.sentence for words in subject_words(subjects, lines, facts)]


def _claim(study: Study, name: str, lines: Sequence[VerdictLine]) -> list[str]:
    claim = _loaded(study, name)
    parts = [f"### {name}", f"{lines[0].title}. *{kinds(lines)}*"]
    if claim is not None:
        parts += [f"Hypothesis: {_one_line(claim.hypothesis)}", f"Known before: {_one_line(claim.prior_knowledge)}"]
    for line in lines:
        parts += _verdict(line)
    parts += _published(study, name, lines)
    for amendment in amendments(study, name):
        outcomes = ", ".join(f"{subject}: {outcome.verdict}" for subject, outcome in amendment.outcomes.items())
        parts.append(
            f"Amended on {amendment.date} ({amendment.reason}); verdicts before: {outcomes or 'none'}. "
            "The verdict above is post hoc."
        )
    return parts


def _verdict(line: VerdictLine) -> list[str]:
    recorded = f", recorded: {line.recorded}" if line.recorded else ""
    blind = " — not blind: its data were looked at before the claim was frozen" if line.seen else ""
    parts = [f"**{line.pair[1]}: {line.shown.word}** (computed: {line.judgement.verdict}{recorded}){blind}"]
    parts += [f"Exploratory: {reason}." for reason in line.exploratory]
    if line.judgement.requirements:
        rows = [
            [
                requirement.metric,
                number(requirement.value),
                requirement.predicate,
                "met" if requirement.met else "**unmet**",
            ]
            for requirement in line.judgement.requirements
        ]
        parts.append(_table(["requires", "value", "needed", ""], rows))
    if line.judgement.criteria:
        rows = [
            [
                result.name,
                _one_line(result.says),
                with_interval(result.value, result.low, result.high),
                result.support,
                result.refute,
                signed(result.margin),
                side(result),
            ]
            for result in line.judgement.criteria
        ]
        parts.append(_table(["criterion", "says", "value", "support", "refute", "margin", "holds"], rows))
    others = [f"{name} = {value}" for name, value in further_metrics(line)]
    if others:
        parts.append("Also measured: " + ", ".join(others) + ".")
    return parts


def _published(study: Study, claim: str, lines: Sequence[VerdictLine]) -> list[str]:
    """The papers' numbers, ours beside them where the metric is the same."""
    rows = []
    for entry in published(study, claim):
        reported = number(entry.value) if entry.value is not None else ""
        if entry.low is not None or entry.high is not None:
            reported = f"{reported} [{number(entry.low)}, {number(entry.high)}]".strip()
        metric = entry.metric or ""
        same = [line for line in lines if metric in line.judgement.metrics]
        named = [line for line in same if entry.subject in (None, line.pair[1])] or same
        ours = [f"{line.pair[1]}: {number(line.judgement.metrics[metric])}" for line in named]
        words = " ".join(filter(None, (reported, entry.words)))
        rows.append(
            [
                entry.subject or "all models",
                _one_line(entry.says),
                words,
                entry.where,
                entry.verdict or "",
                "; ".join(ours),
            ]
        )
    if not rows:
        return []
    return [
        "Published (decides nothing):",
        _table(["model", "says", "published", "where", "their verdict", "ours"], rows),
    ]


def _drafts(facts: Mapping[str, Any]) -> list[str]:
    names = facts.get("drafts")
    return ["## Unregistered drafts", "\n".join(f"- {name}" for name in names)] if names else []


def _origin(facts: Mapping[str, Any]) -> list[str]:
    if not facts:
        return []
    code = facts.get("code", {})
    dirty = ", with uncommitted changes" if code.get("dirty") else ""
    evidence = facts.get("evidence", {})
    return [
        "## Provenance",
        "\n".join(
            [
                f"- code: {code.get('commit') or 'no repository'}{dirty}",
                f"- ledger head: `{facts.get('ledger_head')}` ({facts.get('ledger_anchor')})",
                f"- evidence: {len(evidence.get('computed', {}))} shards computed, {len(evidence.get('cached', {}))} "
                "from the store",
                "- everything else: provenance.json; every number to the bit: verdicts.jsonl",
            ]
        ),
    ]


def _loaded(study: Study, name: str) -> Claim | None:
    """A report of an old run may name a claim that is gone."""
    try:
        return load_claim(study.prereg / f"{name}.yaml")
    except ResolventError:
        return None


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(header), "|" + " --- |" * len(header), *map(line, rows)])


def _one_line(text: str) -> str:
    return " ".join(text.split())
