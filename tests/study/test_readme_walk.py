"""The README's walk for a newcomer, executed as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_study import REPOSITORY, make_study, verdicts

from resolvent.registry import Ledger
from resolvent.study import open_study

README = REPOSITORY / "README.md"


def commands() -> list[list[str]]:
    """The lines of the code block below the heading, without their comments."""
    section = README.read_text(encoding="utf-8").partition("## Adding a claim")[2]
    block = section.partition("```\n")[2].partition("```")[0]
    return [re.sub(r"\s+#.*", "", line).split() for line in block.splitlines()]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("walk") / "tiny")


def run(root: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    modules = {"resolvent": "resolvent.cli", "pytest": "pytest"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "RESOLVENT"))}
    return subprocess.run(
        [sys.executable, "-m", modules[command[0]], *command[1:]],
        cwd=root,
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_walk_leads_from_nothing_to_a_verdict(root: Path) -> None:
    """A newcomer types these lines; the claim is a draft until `register`, and counts from then on."""
    lines = commands()
    assert [line[:2] for line in lines] == [
        ["resolvent", "new-claim"],
        ["resolvent", "rehearse"],
        ["resolvent", "register"],
        ["resolvent", "show"],
        ["pytest", "-k"],
    ]
    new, rehearse, register, show, counted = lines

    done = run(root, new)
    assert done.returncode == 0, done.stderr
    assert "my_claim" not in Ledger.load(open_study(root)).registered_claims()
    done = run(root, rehearse)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "effect planted: supported" in done.stdout
    assert "nothing planted: refuted" in done.stdout
    done = run(root, counted)
    assert done.returncode == 0, done.stdout
    assert "EXPLORATORY" in done.stdout

    done = run(root, register)
    assert done.returncode == 0, done.stderr
    assert "registered claim:my_claim" in done.stdout
    assert "registered" in run(root, show).stdout
    done = run(root, counted)
    assert done.returncode in (0, 1), done.stdout
    (line,) = verdicts(root)
    assert (line["claim"], line["exploratory"]) == ("my_claim", False)
    assert (root / "runs" / "latest" / "report.html").is_file()


def test_what_can_not_be_right_is_not_frozen(root: Path) -> None:
    """A criterion that anything satisfies is found out by the null, one that nothing satisfies by the effect."""
    for name, support, refute, problem in (
        ("too_easy", "{at_most: 100.0}", "{above: 200.0}", "where nothing is planted the claim is supported too"),
        ("too_hard", "{at_most: -100.0}", "{above: -50.0}", "the claim is refuted, not supported"),
    ):
        assert run(root, ["resolvent", "new-claim", name]).returncode == 0
        file = root / "prereg" / f"{name}.yaml"
        text = file.read_text().replace("{at_most: -0.5, bound: high}", support)
        file.write_text(text.replace("{above: -0.1, bound: low}", refute))
        done = run(root, ["resolvent", "rehearse", name])
        assert done.returncode == 1
        assert f"NOT READY: {problem}" in done.stdout.replace("where the effect is planted ", "")
        done = run(root, ["resolvent", "register", name])
        assert done.returncode == 2
        assert problem in done.stderr
        assert name not in Ledger.load(open_study(root)).registered_claims()
