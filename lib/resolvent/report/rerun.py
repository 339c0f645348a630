"""The one command that runs a claim on a subject again."""

from __future__ import annotations

import re
from pathlib import Path

_TEST = re.compile(r"^def test_(\w+)\s*\(", re.MULTILINE)


def claim_tests(claims: Path) -> dict[str, str]:
    """Claim -> its test as pytest names it, `claims/test_x.py::test_<claim>`, from the text of the files."""
    found = {}
    for file in sorted(claims.rglob("test_*.py")):
        place = file.relative_to(claims.parent).as_posix()
        for name in _TEST.findall(file.read_text(encoding="utf-8")):
            found[name] = f"{place}::test_{name}"
    return found


def rerun_command(tests: dict[str, str], claim: str, subject: str) -> str:
    """`pytest "claims/test_x.py::test_<claim>[<subject>]" --subject=<subject>`."""
    if claim not in tests:
        return f"pytest -k {claim} --subject={subject}"
    return f'pytest "{tests[claim]}[{subject}]" --subject={subject}'
