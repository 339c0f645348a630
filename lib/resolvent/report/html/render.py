"""A page as one HTML file: Jinja2 templates and the style sheet of this folder, all of it inline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolvent.report.html.outcome import look
from resolvent.report.numbers import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from resolvent.report.comparison import Comparison
    from resolvent.report.html.page import Page
    from resolvent.report.subject_words import SubjectWords

_HERE = Path(__file__).parent


def report_html(page: Page) -> str:
    """report.html of a run."""
    return rendered("report.html.j2", page=page)


def comparison_html(comparison: Comparison, subjects: Sequence[SubjectWords]) -> str:
    """The page of two runs: flips first, then all other verdicts."""
    ordered = sorted(comparison.verdicts, key=lambda change: (not change.flipped, change.before == change.after))
    outcomes = {verdict for change in ordered for verdict in (change.before, change.after)}
    return rendered(
        "compare.html.j2",
        comparison=comparison,
        verdicts=ordered,
        looks={outcome: look(outcome) for outcome in outcomes},
        first=comparison.first.path.resolve().name,
        second=comparison.second.path.resolve().name,
        subjects=subjects,
    )


def rendered(template: str, **values: Any) -> str:
    """A template of this folder. All is escaped but what a template marks as safe; a missing value is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = number
    environment.filters["comparison"] = comparison
    style = Markup((_HERE / "style.css").read_text(encoding="utf-8"))
    return environment.get_template(template).render(style=style, **values)


def comparison(predicate: str) -> str:
    """A predicate as people write it: `low >= 0.6` -> `lower end ≥ 0.6`."""
    words = re.sub(r"\blow\b", "lower end", re.sub(r"\bhigh\b", "upper end", predicate))
    return words.replace(">=", "≥").replace("<=", "≤")
