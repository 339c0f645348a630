"""One verdict as a run records it: the line of verdicts.jsonl."""

from __future__ import annotations

import json
from dataclasses import dataclass

from resolvent.registry import Judgement
from resolvent.report.strict_json import strict_json
from resolvent.report.verdict_words import Shown, shown


@dataclass(frozen=True)
class VerdictLine:
    """A claim × subject, judged.

    judgement    claim, subject, computed verdict, metrics, criteria, requirements
    recorded     the verdict in prereg/outcomes/, or None
    kind         confirmatory, post_hoc, exploratory or theorem: tallied apart
    seen         whether the subject's data were looked at before the claim was frozen (“not blind”)
    exploratory  why the verdict doesn't count; empty where it does
    """

    judgement: Judgement
    recorded: str | None
    kind: str
    title: str
    seen: bool
    exploratory: tuple[str, ...]

    @property
    def pair(self) -> tuple[str, str]:
        return self.judgement.claim, self.judgement.subject

    @property
    def shown(self) -> Shown:
        """Word, letter and colour."""
        return shown(self.judgement.verdict, self.recorded, exploratory=bool(self.exploratory))

    def to_json_line(self) -> str:
        """One line of verdicts.jsonl; numbers read back to the same bits."""
        fields = {
            **self.judgement.to_json(),
            "recorded": self.recorded,
            "word": self.shown.word,
            "kind": self.kind,
            "title": self.title,
            "seen": self.seen,
            "exploratory": bool(self.exploratory),
            "exploratory_because": list(self.exploratory),
        }
        return strict_json(fields)

    @classmethod
    def from_json_line(cls, line: str) -> VerdictLine:
        """The inverse of `to_json_line`."""
        plain = json.loads(line)
        return cls(
            judgement=Judgement.from_json(plain),
            recorded=plain["recorded"],
            kind=plain["kind"],
            title=plain["title"],
            seen=plain["seen"],
            exploratory=tuple(plain["exploratory_because"]),
        )
