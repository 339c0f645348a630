"""From a run, its study and the evidence to the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from resolvent.errors import ResolventError
from resolvent.registry import Claim, CriterionResult, Ledger, amendments, load_claim, published
from resolvent.report.criteria_table import further_metrics, side
from resolvent.report.exclusions import exclusions
from resolvent.report.figures.criterion import criterion
from resolvent.report.figures.of_claims import claim_panels
from resolvent.report.figures.panel import Panel, inline_svg
from resolvent.report.html.outcome import flags, look
from resolvent.report.html.page import (
    AmendmentView,
    Cell,
    CriterionView,
    Group,
    Page,
    Picture,
    PublishedView,
    Row,
    Section,
    VerdictView,
)
from resolvent.report.numbers import number, signed, with_interval
from resolvent.report.rerun import claim_tests, rerun_command
from resolvent.report.subject_words import SubjectWords, subject_words
from resolvent.report.tally import Pair, owed, tallies
from resolvent.report.thresholds import near

if TYPE_CHECKING:
    from resolvent.models.subjects import StudySubjects
    from resolvent.report.stored_evidence import StoredEvidence
    from resolvent.report.verdict_line import VerdictLine
    from resolvent.study import Study


@dataclass(frozen=True)
class _Inputs:
    """What the parts of the page are made from."""

    study: Study
    subjects: StudySubjects
    lines: Mapping[Pair, VerdictLine]
    facts: Mapping[str, Any]
    evidence: StoredEvidence | None
    claims: Mapping[str, Claim]
    owed: Mapping[Pair, str]
    words: Mapping[str, SubjectWords]
    tests: Mapping[str, str]


def build_page(
    study: Study,
    subjects: StudySubjects,
    lines: Sequence[VerdictLine],
    facts: Mapping[str, Any],
    *,
    run: str,
    evidence: StoredEvidence | None,
) -> Page:
    """The page of a run.

    facts     the content of provenance.json
    run       the name of its folder
    evidence  for the claims' own figures; None: none is drawn, and the page says so
    """
    ledger = Ledger.load(study)
    debts = owed(lines, facts)
    names = _in_order(ledger, [*(claim for claim, _ in debts), *(line.pair[0] for line in lines)])
    inputs = _Inputs(
        study=study,
        subjects=subjects,
        lines={line.pair: line for line in lines},
        facts=facts,
        evidence=evidence,
        claims={name: claim for name in names if (claim := _loaded(study, name))},
        owed=debts,
        words=_words(subjects, lines, facts, debts),
        tests=claim_tests(study.root / "claims"),
    )
    theorems = {name for name in names if _kind(inputs, name) == "theorem"}
    return Page(
        run=run,
        began=str(facts.get("began", "unknown")),
        state=_state(facts, debts),
        stamps=tuple(_stamps(facts, debts)),
        tallies=tallies(lines, facts, theorems),
        facts=tuple(_facts(facts)),
        subjects=tuple(inputs.words.values()),
        groups=_groups(inputs, names, theorems),
        sections=tuple(_section(inputs, name) for name in names),
        provenance=tuple(_provenance(facts)),
        drafts=tuple(facts.get("drafts", ())),
    )


def _in_order(ledger: Ledger, names: Sequence[str]) -> list[str]:
    """Each once, in order of registration; drafts last, by name."""
    registered = {
        entry.name: entry.seq for entry in ledger.entries if entry.event == "registered" and "claim:" in entry.what
    }
    return sorted(set(names), key=lambda name: (registered.get(name, len(ledger.entries)), name))


def _loaded(study: Study, name: str) -> Claim | None:
    """A report of an old run may name a claim that is gone."""
    try:
        return load_claim(study.prereg / f"{name}.yaml")
    except ResolventError:
        return None


def _words(
    subjects: StudySubjects, lines: Sequence[VerdictLine], facts: Mapping[str, Any], debts: Mapping[Pair, str]
) -> dict[str, SubjectWords]:
    """Of the subjects with a verdict, then of those that only owe one."""
    found = {words.name: words for words in subject_words(subjects, lines, facts)}
    for _, name in debts:
        if name not in found:
            found[name] = SubjectWords.without_verdict(subjects, facts, name)
    return found


def _kind(inputs: _Inputs, name: str) -> str:
    line = next((line for (claim, _), line in inputs.lines.items() if claim == name), None)
    if line is not None:
        return line.kind
    return inputs.claims[name].kind if name in inputs.claims else "unknown"


def _state(facts: Mapping[str, Any], debts: Mapping[Pair, str]) -> tuple[str, ...]:
    names = [name.upper() for name in ("partial", "exploratory", "incomplete") if facts.get(name)]
    if not facts:
        names.append("INTERRUPTED")
    elif any(outcome == "missing" for outcome in debts.values()) and not names:
        names.append("INCOMPLETE")
    return tuple(names) or ("COMPLETE",)


def _stamps(facts: Mapping[str, Any], debts: Mapping[Pair, str]) -> list[str]:
    found = []
    if not facts:
        found.append("The run was killed before its end: what is here was judged before that.")
    if facts.get("partial"):
        found.append("PARTIAL: a part of the study was selected, or the run ended early.")
    if facts.get("exploratory"):
        found.append("EXPLORATORY: made under other conditions than the registered ones; it decides nothing.")
    missing = [f"{claim} on {subject}" for (claim, subject), outcome in debts.items() if outcome == "missing"]
    if missing:
        found.append(f"No verdict for {', '.join(missing)}.")
    found += [f"UNAVAILABLE: {reason}." for reason in facts.get("unavailable", {}).values()]
    return found


def _facts(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    code = facts.get("code", {})
    dirty = {True: "with uncommitted changes", False: "no uncommitted changes", None: "not known whether edited"}
    commit = code.get("commit")
    return [
        ("Ledger head", str(facts.get("ledger_head", "unknown"))),
        ("Anchor", str(facts.get("ledger_anchor", "unknown"))),
        ("Commit", f"{commit}, {dirty[code.get('dirty')]}" if commit else "no repository"),
    ]


def _provenance(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not facts:
        return []
    evidence = facts.get("evidence", {})
    packages = ", ".join(f"{name} {version}" for name, version in facts.get("packages", {}).items() if version)
    host = facts.get("host", {})
    return [
        ("Command", "pytest " + " ".join(map(str, facts.get("command", [])))),
        ("Began", f"{facts.get('began')}, {number(facts.get('seconds'))} s"),
        ("Evidence", f"{len(evidence.get('computed', {}))} shards computed, {len(evidence.get('cached', {}))} stored"),
        ("Device", f"{facts.get('device')}; {host.get('platform')}, {host.get('cpus')} CPUs"),
        ("Packages", f"Python {facts.get('python')}, {packages}"),
        ("Seed", str(facts.get("seed"))),
    ]


def _groups(inputs: _Inputs, names: Sequence[str], theorems: set[str]) -> tuple[Group, ...]:
    counted = {claim for claim, _ in inputs.owed}
    parts = {
        ("Findings", "In order of registration."): [n for n in names if n in counted - theorems],
        ("Theorems", "They hold for any weights and guard the numerics; no findings."): [
            n for n in names if n in counted & theorems
        ],
        ("Not counted", "Unregistered drafts, and claims that apply to none of the subjects."): [
            n for n in names if n not in counted
        ],
    }
    return tuple(
        Group(title, note, tuple(_row(inputs, name) for name in chosen))
        for (title, note), chosen in parts.items()
        if chosen
    )


def _row(inputs: _Inputs, name: str) -> Row:
    cells = []
    for subject in inputs.words:
        pair = (name, subject)
        line = inputs.lines.get(pair)
        outcome = inputs.owed.get(pair) or (line.judgement.verdict if line else "absent")
        marks = flags(line, _is_near(line)) if line else ()
        cells.append(Cell(look(outcome), anchor(name, subject), marks))
    return Row(name, _title(inputs, name), _kind(inputs, name).replace("_", " "), anchor(name), tuple(cells))


def anchor(claim: str, subject: str | None = None) -> str:
    """The id of a claim's section, or of its part on one subject."""
    return f"claim-{claim}" if subject is None else f"claim-{claim}-on-{subject.replace('.', '_')}"


def _title(inputs: _Inputs, name: str) -> str:
    line = next((line for (claim, _), line in inputs.lines.items() if claim == name), None)
    return line.title if line else inputs.claims[name].title if name in inputs.claims else name


def _is_near(line: VerdictLine) -> bool:
    return any(near(result) for result in line.judgement.criteria)


def _section(inputs: _Inputs, name: str) -> Section:
    claim = inputs.claims.get(name)
    return Section(
        id=anchor(name),
        claim=name,
        title=_title(inputs, name),
        kind=_kind(inputs, name).replace("_", " "),
        source=_source(claim) if claim else "this claim is no longer in prereg/",
        registered=str(claim.registered) if claim else "",
        hypothesis=_one_line(claim.hypothesis) if claim else "",
        prior_knowledge=_one_line(claim.prior_knowledge) if claim else "",
        protocol=json.dumps(claim.protocol, ensure_ascii=False) if claim else "",
        published=tuple(_published(inputs, name)),
        amendments=tuple(_amendments(inputs, name)),
        verdicts=tuple(_verdict(inputs, name, subject) for subject in inputs.words),
    )


def _source(claim: Claim) -> str:
    source = claim.source
    places = [
        f"{place} {getattr(source, place)}"
        for place in ("section", "table", "figure", "appendix")
        if getattr(source, place) is not None
    ]
    text = ", ".join([source.paper, *places])
    if source.extends:
        text += f"; extends {source.extends}"
    return f"{text}; {source.note}" if source.note else text


def _published(inputs: _Inputs, name: str) -> list[PublishedView]:
    lines = [line for (claim, _), line in inputs.lines.items() if claim == name]
    found = []
    for entry in published(inputs.study, name):
        reported = number(entry.value) if entry.value is not None else ""
        if entry.low is not None or entry.high is not None:
            reported = f"{reported} [{number(entry.low)}, {number(entry.high)}]".strip()
        same = [line for line in lines if entry.metric in line.judgement.metrics]
        ours = [f"{line.pair[1]}: {number(line.judgement.metrics[entry.metric or ''])}" for line in same]
        found.append(PublishedView(entry, reported, "; ".join(ours)))
    return found


def _amendments(inputs: _Inputs, name: str) -> list[AmendmentView]:
    now = [f"{subject}: {line.judgement.verdict}" for (claim, subject), line in inputs.lines.items() if claim == name]
    return [
        AmendmentView(
            date=str(amendment.date),
            reason=amendment.reason,
            before=", ".join(f"{subject}: {o.verdict}" for subject, o in amendment.outcomes.items()) or "none recorded",
            after=", ".join(now) or "none yet",
        )
        for amendment in amendments(inputs.study, name)
    ]


def _verdict(inputs: _Inputs, name: str, subject: str) -> VerdictView:
    pair = (name, subject)
    line = inputs.lines.get(pair)
    outcome = inputs.owed.get(pair) or (line.judgement.verdict if line else "absent")
    command = rerun_command(dict(inputs.tests), name, subject)
    if line is None:
        return VerdictView(
            id=anchor(name, subject),
            subject=inputs.words[subject],
            look=look(outcome),
            flags=(),
            computed="no verdict",
            recorded="",
            figure_note="Without a verdict there is no figure.",
            command=command,
        )
    pictures, note = _figures(inputs, line)
    return VerdictView(
        id=anchor(name, subject),
        subject=inputs.words[subject],
        look=look(outcome),
        flags=flags(line, _is_near(line)),
        computed=line.judgement.verdict.replace("_", " "),
        recorded=line.recorded or "nothing yet",
        exploratory=line.exploratory,
        requirements=line.judgement.requirements,
        criteria=tuple(_criterion(line, result) for result in line.judgement.criteria),
        also=tuple(further_metrics(line)),
        figures=pictures,
        figure_note=note,
        exclusions=tuple(_exclusions(inputs, name, subject)),
        command=command,
    )


def _criterion(line: VerdictLine, result: CriterionResult) -> CriterionView:
    name = f"{anchor(*line.pair)}-{result.name}"
    return CriterionView(
        name=result.name,
        metric=result.metric,
        says=_one_line(result.says),
        value=with_interval(result.value, result.low, result.high),
        support=result.support,
        refute=result.refute,
        margin=signed(result.margin),
        side={"support": "supports", "refute": "refutes", "neither": "neither"}[side(result)],
        near=near(result),
        picture=_picture(criterion(result), f"dots-{name}"),
    )


def _figures(inputs: _Inputs, line: VerdictLine) -> tuple[tuple[Picture, ...], str]:
    """The claim's own figure, or why there is none."""
    claim, subject = _claim_as_run(inputs, line.pair[0]), inputs.subjects.subjects.get(line.pair[1])
    if claim is None or subject is None:
        return (), "Claim or subject is no longer in the study, so its figure can't be drawn."
    if inputs.evidence is None:
        return (), "No evidence at hand: the figure was not drawn."
    try:
        panels = claim_panels(inputs.evidence, subject, claim, line)
    except ResolventError as error:
        return (), f"No figure: {error}."
    name = f"figure-{anchor(*line.pair)}"
    pictures = tuple(_picture(panel, f"{name}-{index}") for index, panel in enumerate(panels))
    return pictures, "" if pictures else "This claim has no figure of its own beyond its criteria."


def _picture(panel: Panel, name: str) -> Picture:
    return Picture(panel.title, panel.description, inline_svg(panel, name.replace(".", "_")))


def _claim_as_run(inputs: _Inputs, name: str) -> Claim | None:
    """The claim with the protocol that the run followed: an exploratory one may have had fewer texts."""
    claim = inputs.claims.get(name)
    protocol = inputs.facts.get("claims", {}).get(name, {}).get("protocol")
    return claim if claim is None or protocol is None else msgspec.structs.replace(claim, protocol=protocol)


def _exclusions(inputs: _Inputs, name: str, subject: str) -> list[str]:
    claim, found = _claim_as_run(inputs, name), inputs.subjects.subjects.get(subject)
    return exclusions(claim, found, inputs.evidence) if claim and found else []


def _one_line(text: str) -> str:
    return " ".join(text.split())
