"""A study in a temporary folder: the project's own prereg/ without ledger and outcomes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from resolvent.study import Study, open_study

PREREG = Path(__file__).parents[2] / "prereg"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    folder = tmp_path / "study" / "prereg"
    folder.mkdir(parents=True)
    for path in PREREG.glob("*.yaml"):
        shutil.copy(path, folder)
    return open_study(folder.parent)


@pytest.fixture(scope="session")
def project() -> Study:
    """The project itself, to be read only."""
    return open_study(PREREG.parent)
