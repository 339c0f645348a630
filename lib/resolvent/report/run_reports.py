"""The reports of a run that need more than its verdicts: the page, and what the BOS-mass law says of its subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolvent.report.run_folder import HTML_REPORT, replace_text

if TYPE_CHECKING:
    from resolvent.models.subjects import StudySubjects
    from resolvent.report.stored_evidence import StoredEvidence
    from resolvent.report.verdict_line import VerdictLine
    from resolvent.study import Study


def law_of_subjects(
    evidence: StoredEvidence, lines: Sequence[VerdictLine], facts: Mapping[str, Any]
) -> dict[str, dict[str, float]]:
    """By subject, the numbers of `law_numbers` under the protocols in `facts`; without those that have none."""
    from resolvent.report.law_numbers import law_numbers

    protocols = [claim["protocol"] for claim in facts["claims"].values()]
    found = {}
    for name in dict.fromkeys(line.pair[1] for line in lines):
        subject = evidence.subjects.subjects.get(name)
        numbers = law_numbers(evidence, subject, protocols) if subject else None
        if numbers:
            found[name] = numbers
    return found


def write_html(
    study: Study,
    subjects: StudySubjects,
    lines: Sequence[VerdictLine],
    facts: Mapping[str, Any],
    *,
    folder: Path,
    evidence: StoredEvidence | None,
) -> Path:
    """Writes report.html into a run's folder, and returns its path."""
    from resolvent.report.html.build import build_page
    from resolvent.report.html.render import report_html

    page = build_page(study, subjects, lines, facts, run=folder.resolve().name, evidence=evidence)
    path = folder / HTML_REPORT
    replace_text(path, report_html(page))
    return path
