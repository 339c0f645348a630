"""`python -m bench`: every bench is found by its file's name, and a missed target is not lost among the others."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def benches(tmp_path):
    """A folder with the real entry point and three made-up benches."""
    (tmp_path / "bench").mkdir()
    shutil.copy(ROOT / "bench" / "__main__.py", tmp_path / "bench")
    for name, status in (("fine", 0), ("slow", 1), ("last", 0)):
        (tmp_path / "bench" / f"bench_{name}.py").write_text(f"print('ran {name}')\nraise SystemExit({status})\n")
    return tmp_path


def run(folder, *names):
    return subprocess.run(
        [sys.executable, "-m", "bench", *names], cwd=folder, capture_output=True, text=True, check=False
    )


def test_all_run_and_the_one_that_missed_is_named(benches):
    """A failure in the middle must neither stop the rest nor be hidden by it."""
    done = run(benches)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("ran")] == ["ran fine", "ran last", "ran slow"]
    assert done.stderr.strip().endswith("missed a target: slow")


def test_one_can_be_chosen(benches):
    """The battery's bench takes minutes; who changes the contest wants its own."""
    done = run(benches, "fine")
    assert (done.returncode, done.stdout.split()) == (0, ["==", "fine", "ran", "fine"])


def test_an_unknown_name_is_said_with_those_there_are(benches):
    """Not a traceback of an import."""
    done = run(benches, "fast")
    assert done.returncode == 2
    assert done.stderr.strip() == "no bench fast; there are fine, last, slow"


def test_the_studys_benches_are_among_them():
    """The contest's and the battery's, in this repository."""
    stderr = run(ROOT, "none").stderr
    assert all(name in stderr for name in ("battery", "contest"))
