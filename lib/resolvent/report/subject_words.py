"""What a subject is, in words that stand wherever it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from resolvent.registry import load_claims
from resolvent.report.numbers import number
from resolvent.report.verdict_line import VerdictLine

if TYPE_CHECKING:
    from resolvent.models.subjects import StudySubjects, Subject
    from resolvent.study import Study


@dataclass(frozen=True)
class SubjectWords:
    """One subject of a run.

    name   as the study calls it
    what   `instruct-tuned, dequantised from Q4_1`, then its shape; says so where it is not registered
    seen   whether its data were looked at before freezing, and for how many of the claims shown
    law    what the BOS-mass law alone predicts, beside what was measured
    """

    name: str
    what: str
    seen: str
    law: str

    @property
    def sentence(self) -> str:
        """All of it on one line."""
        return f"{self.name}: {self.what}. {self.seen}. {self.law}."

    @classmethod
    def without_verdict(cls, subjects: StudySubjects, facts: Mapping[str, Any], name: str) -> SubjectWords:
        """A subject that a run owed verdicts and gave none."""
        subject = subjects.subjects.get(name)
        words = what(subject) if subject else recorded_weights(facts, name)
        return cls(name, words, "No verdict in this run", law_words(None))


def subject_words(
    subjects: StudySubjects, lines: Sequence[VerdictLine], facts: Mapping[str, Any]
) -> tuple[SubjectWords, ...]:
    """The subjects of the lines, in their order; `facts` is the content of provenance.json."""
    found = []
    for name in dict.fromkeys(line.pair[1] for line in lines):
        subject = subjects.subjects.get(name)
        found.append(
            SubjectWords(
                name=name,
                what=what(subject) if subject else recorded_weights(facts, name),
                seen=_seen([line for line in lines if line.pair[1] == name]),
                law=law_words(facts.get("bos_mass_law", {}).get(name)),
            )
        )
    return tuple(found)


def what(subject: Subject) -> str:
    """The subject's weights and shape in words."""
    weights = weights_words(subject.entry.get("weights") or {})
    trained = "" if subject.trained else "untrained, "
    shape = f"{trained}{subject.layers} layers of {subject.heads} heads"
    frozen = "" if subject.frozen else "; not registered, so its verdicts are EXPLORATORY"
    return (f"{weights}, " if weights else "") + shape + frozen


def weights_words(weights: Mapping[str, str]) -> str:
    """How the weights differ from the base model's: `instruct-tuned, dequantised from Q4_1`."""
    parts = []
    for key, value in weights.items():
        if key == "tuned":
            parts.append(f"{value}-tuned")
        elif key == "quantised":
            parts.append(f"dequantised from {value[:1].upper()}{value[1:]}")
        else:
            parts.append(f"{key}: {value}")
    return ", ".join(parts)


def recorded_weights(facts: Mapping[str, Any], name: str) -> str:
    """The same of a subject that the study no longer has, from a run's provenance."""
    entry = facts.get("subjects", {}).get(name, {}).get("entry", {})
    return weights_words(entry.get("weights") or {}) or "no longer a subject of this study"


def law_words(law: Mapping[str, float] | None) -> str:
    """The numbers of `report.law_numbers` in a sentence."""
    if not law:
        return "What the BOS-mass law alone predicts was not measured in this run"
    return (
        f"BOS mass alone predicts a median K_dev of {number(law['predicted_kreiss'])} "
        f"({number(law['measured_kreiss'])} measured) and {number(round(100 * law['within_quarter_bit'], 1))} % of "
        "heads to a quarter of a bit"
    )


def figure_words(study: Study, subject: Subject, law: Mapping[str, float] | None) -> str:
    """The sentence below a figure: what the subject is, how many claims it is not blind for, what the law says."""
    seen = sum(not claim.blind(subject.name) for claim in load_claims(study).values())
    blind = f"Not blind for {_claims(seen)} of the study" if seen else "Blind for every claim of the study"
    return f"{subject.name}: {what(subject)}. {blind}." + (f" {law_words(law)}." if law else "")


def _seen(lines: Sequence[VerdictLine]) -> str:
    seen = sum(line.seen for line in lines)
    if not seen:
        return f"Blind: its data were not looked at before any of {_claims(len(lines))} was frozen"
    return f"Not blind for {seen} of {_claims(len(lines))}: its data were looked at before freezing"


def _claims(count: int) -> str:
    return f"{count} claim{'' if count == 1 else 's'}"
