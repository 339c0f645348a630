"""A study is found from any folder below it, and its folders can be moved."""

from pathlib import Path

import pytest

from resolvent.errors import ResolventError
from resolvent.study import find_study, open_study


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "prereg").mkdir()
    (tmp_path / "prereg" / "subjects.yaml").write_text("seed: 1\n")
    return tmp_path.resolve()


def test_study_is_found_by_walking_up(root: Path) -> None:
    """`resolvent` must work from claims/ as from the root."""
    deep = root / "claims" / "family"
    deep.mkdir(parents=True)
    assert find_study(deep).root == root


def test_no_study_is_said(tmp_path: Path) -> None:
    """The message says what was looked for."""
    with pytest.raises(ResolventError, match=r"prereg/subjects\.yaml"):
        open_study(tmp_path)


def test_an_argument_wins_over_the_environment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--evidence-dir is nearer to the user than RESOLVENT_EVIDENCE."""
    monkeypatch.setenv("RESOLVENT_EVIDENCE", str(root / "from_environment"))
    assert open_study(root).evidence == root / "from_environment"
    assert open_study(root, evidence=root / "given").evidence == root / "given"
