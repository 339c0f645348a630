"""A report of every kind of verdict, made through the front door of the report, in a study in miniature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from builders import criterion, unmet, verdict_line
from mini_study import MiniStudy

from resolvent.models.subjects import load_subjects
from resolvent.registry import amend, register
from resolvent.report.html.build import build_page
from resolvent.report.html.page import Page
from resolvent.report.html.render import report_html
from resolvent.report.verdict_line import VerdictLine
from resolvent.study import Study, open_study

PUBLISHED = """
claim: bad
paper: transient-reserves
values:
  - {says: the size, where: table 1, subject: ada, metric: size, value: 0.75, verdict: supported}
  - {says: the size of others, where: section 3, words: "larger <still> & more"}
"""

LINES = [
    verdict_line(claim="good", recorded="supported"),
    verdict_line(claim="good", subject="bell", recorded="supported"),
    verdict_line(
        "refuted",
        claim="bad",
        recorded="refuted",
        seen=True,
        metrics={"size": 0.1, "other": 3.0},
        criteria=[criterion(value=0.1, low=0.05, high=0.29, margin=-0.4, holds=False, refuted=True)],
    ),
    verdict_line("undecided", claim="open", criteria=[criterion(value=0.47, margin=-0.03, holds=False)]),
    verdict_line("inestimable", claim="empty", criteria=[], requirements=[unmet()]),
    verdict_line(claim="theorem_of_size", kind="theorem", criteria=[criterion(value=np.pi, margin=2.6)]),
    verdict_line("supported", claim="turned", recorded="refuted", kind="post_hoc"),
    verdict_line(claim="draft", exploratory=["the claim is an unregistered draft"]),
]

FACTS = {
    "began": "2026-12-01T12:00:00+00:00",
    "seconds": 12.5,
    "code": {"commit": "c" * 40, "dirty": True},
    "ledger_head": "1" * 64,
    "ledger_anchor": "unanchored",
    "partial": False,
    "exploratory": False,
    "incomplete": [["lost", "ada"], ["broken", "ada"]],
    "errors": [["broken", "ada"]],
    "expected": [
        *[["good", "ada"], ["good", "bell"], ["bad", "ada"], ["open", "ada"], ["empty", "ada"]],
        *[["theorem_of_size", "ada"], ["turned", "ada"], ["lost", "ada"], ["broken", "ada"]],
    ],
    "drafts": ["draft"],
    "bos_mass_law": {"ada": {"predicted_kreiss": 2.0, "measured_kreiss": 2.5, "within_quarter_bit": 0.75}},
    "packages": {"numpy": "2"},
}


def make_study(root: Path) -> Study:
    """With every claim of LINES registered but the draft, one of them amended."""
    made = MiniStudy(root)
    for name in ("good", "bad", "open", "empty", "turned", "lost", "broken", "draft"):
        made.claim(name)
    made.claim("theorem_of_size", kind="theorem")
    made.write("prereg/published/bad.yaml", PUBLISHED)
    study = open_study(made.root)
    for name in ("theorem_of_size", "turned", "good", "bad", "open", "empty", "lost", "broken"):
        register(study, [name])
    text = (made.root / "prereg" / "turned.yaml").read_text()
    made.write("new.yaml", text.replace("at_least: 0.5", "at_least: 0.55"))
    amend(study, "turned", made.root / "new.yaml", "the threshold was <mistyped>")
    return study


def make_page(study: Study, lines: list[VerdictLine] | None = None, **facts: object) -> Page:
    return build_page(
        study,
        load_subjects(study),
        LINES if lines is None else lines,
        {**FACTS, **facts},
        run="2026-12-01T12-00-00Z",
        evidence=None,
    )


def write_page(study: Study, path: Path) -> Path:
    path.write_text(report_html(make_page(study)), encoding="utf-8")
    return path
