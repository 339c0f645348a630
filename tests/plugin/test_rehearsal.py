"""Planted examples: what can be tried, and what is refused, with the file and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from mini_study import MiniStudy

from resolvent.cli import main
from resolvent.errors import ResolventError
from resolvent.pytest_plugin.new_claim import new_claim
from resolvent.pytest_plugin.rehearsal import planted_file, rehearse
from resolvent.registry import Ledger, load_claim
from resolvent.study import Study, open_study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = open_study(MiniStudy(tmp_path / "study").root)
    new_claim(made, "mine")
    return made


def edited(study: Study, old: str, new: str, file: str = "claims/planted/mine.py") -> None:
    path = study.root / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_is_written_is_ready(study: Study) -> None:
    """A newcomer's first run must work, and mean something: supported with the effect, refuted without."""
    done = rehearse(study, "mine")
    assert (done.effect.judgement.verdict, done.null.judgement.verdict) == ("supported", "refuted")
    assert done.problems == ()
    assert done.effect.exploratory, "no verdict on planted data counts"


def test_new_claim_registers_nothing(study: Study) -> None:
    """A draft is free to change."""
    assert load_claim(study.prereg / "mine.yaml").name == "mine"
    assert not Ledger.load(study).registered_claims()


@pytest.mark.parametrize("name", ["Mine", "1st", "my-claim", ""])
def test_a_name_that_is_none_is_refused(study: Study, name: str) -> None:
    """It becomes a function's and a file's."""
    with pytest.raises(ResolventError, match="lower-case letters"):
        new_claim(study, name)


def test_nothing_is_overwritten(study: Study) -> None:
    """All three files or none."""
    (study.root / "claims" / "planted" / "other.py").write_text("# mine\n")
    with pytest.raises(ResolventError, match=r"other\.py: is there already"):
        new_claim(study, "other")
    assert not (study.prereg / "other.yaml").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def effect(rng)", "def efect(rng)", r"mine\.py: no function effect"),
        ('{"corpus": maps}', "maps", r"effect\(rng\) must return maps by state"),
        ('{"corpus": maps}', '{"corpus": maps[0]}', r"shape \(texts, layers, heads, n, n\)"),
        ('{"corpus": maps}', '{"repeat_probe": maps}', "no maps of the state 'corpus'; planted are repeat_probe"),
        ("maps[..., 0] += 0.6", "maps[..., 0] += 0.7", "planted corpus, text 0, layer 0, head 0"),
        ("HEADS, N = 16, 3, 4, 128", "HEADS, N = 16, 3, 4, 64", "have n = 64; it is captured at 128"),
        ("import numpy as np", 'ATTRIBUTES = {"trained": False}\nimport numpy as np', "does not apply to the planted"),
    ],
)
def test_unfit_examples_are_named(study: Study, old: str, new: str, message: str) -> None:
    """What was found, where, and what is allowed."""
    edited(study, old, new)
    with pytest.raises(ResolventError, match=message):
        rehearse(study, "mine")


def test_too_few_planted_texts_are_inestimable(study: Study) -> None:
    """As on a corpus that is too small; the claim is then not ready."""
    edited(study, "= 16, 3, 4, 128", "= 8, 3, 4, 128")
    assert rehearse(study, "mine").problems == ("where the effect is planted the claim is inestimable, not supported",)


def test_a_test_with_other_fixtures_is_refused(study: Study) -> None:
    """A rehearsal has views, and none of pytest's own fixtures; those of the study's conftest are views too."""
    edited(study, "(claim, census)", "(claim, census, tmp_path)", "claims/test_mine.py")
    with pytest.raises(ResolventError, match=r"takes tmp_path; allowed: claim, census, .*numbers"):
        rehearse(study, "mine")


def test_register_refuses_what_was_not_tried(
    study: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless it is told to: not everything can be planted."""
    monkeypatch.chdir(study.root)
    planted_file(study, "mine").unlink()
    assert main(["register", "mine"]) == 2
    assert "planted/mine.py: missing" in capsys.readouterr().err
    assert not Ledger.load(study).entries, "all or nothing"
    assert main(["register", "mine", "--unchecked"]) == 0
    assert main(["register", "mine"]) == 0, "what is registered is not tried again"
