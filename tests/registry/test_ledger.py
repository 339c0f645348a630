"""Registering, amending, verifying: the ledger grows, and every tampering shows."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from registry_builders import SUBJECT, edit, run_folder

from resolvent.errors import ResolventError
from resolvent.registry import (
    Ledger,
    LedgerError,
    amend,
    amendments,
    chain,
    load_claim,
    record,
    recorded,
    register,
    registering,
    verify,
)
from resolvent.study import Study

CLAIMS = ["sink_floor", "signed_census", "killed_chain"]
DAY = datetime.date(2026, 12, 1)


def lines(study: Study) -> list[str]:
    return (study.prereg / "LEDGER").read_text(encoding="utf-8").splitlines()


def write_lines(study: Study, changed: list[str]) -> None:
    (study.prereg / "LEDGER").write_text("".join(line + "\n" for line in changed), encoding="utf-8")


@pytest.fixture
def frozen(study: Study) -> Study:
    """Three claims registered, two of them with outcomes."""
    register(study, CLAIMS, today=DAY)
    record(study, run_folder(study, {"sink_floor": "supported", "signed_census": "refuted"}), today=DAY)
    return study


def test_claims_bring_seed_texts_and_subjects(study: Study) -> None:
    """Without them the claim does not determine its evidence."""
    new = register(study, ["sink_floor"], today=DAY)
    whats = [entry.what for entry in new]
    assert whats[0] == "seed"
    assert {"text:hansard", "text:repeat_probe", f"subject:{SUBJECT}", "claim:sink_floor"} <= set(whats)
    ledger = Ledger.load(study)
    assert ledger.registered_claims() == {"sink_floor"}
    assert SUBJECT in ledger.registered_subjects()
    assert ledger.verify(study) == []


def test_registering_again_adds_nothing(study: Study) -> None:
    """The command may be repeated, and more claims added later."""
    register(study, ["sink_floor"], today=DAY)
    assert register(study, ["sink_floor"], today=DAY) == []
    assert [entry.what for entry in register(study, CLAIMS, today=DAY)] == ["claim:signed_census", "claim:killed_chain"]


def test_chosen_subjects_only(study: Study) -> None:
    """A subject can be registered on its own, later."""
    register(study, [], [SUBJECT], today=DAY)
    assert Ledger.load(study).registered_subjects() == {SUBJECT}
    with pytest.raises(LedgerError, match="no subject 'gpt3'; allowed: smollm2-135m, gpt2"):
        register(study, [], ["gpt3"])


def test_other_content_is_refused_and_nothing_written(study: Study) -> None:
    """Registering must not become a silent amendment, nor half a registration."""
    register(study, ["sink_floor"], today=DAY)
    before = lines(study)
    edit(study.prereg / "sink_floor.yaml", "at_most: 1.05", "at_most: 1.15")
    with pytest.raises(LedgerError, match="resolvent amend sink_floor"):
        register(study, ["signed_census", "sink_floor"])
    assert lines(study) == before


def test_claim_that_does_not_load_is_not_registered(study: Study) -> None:
    """A frozen claim can't be mended, so it must be sound first."""
    edit(study.prereg / "sink_floor.yaml", "metric:", "metrik:")
    with pytest.raises(ResolventError, match="metrik"):
        register(study, ["sink_floor"])
    assert not (study.prereg / "LEDGER").exists()


def test_line_holds_hash_of_content_and_of_the_previous_line(study: Study) -> None:
    """The published format: one JSON object a line, chained."""
    register(study, CLAIMS, today=DAY)
    rows = [json.loads(line) for line in lines(study)]
    assert [row["seq"] for row in rows] == list(range(len(rows)))
    assert rows[0]["previous"] == "0" * 64
    for row, line in zip(rows[1:], lines(study), strict=False):
        assert row["previous"] == chain.sha256_text(line)
    assert Ledger.load(study).head == chain.sha256_text(lines(study)[-1])
    assert {row["date"] for row in rows} == {"2026-12-01"}


def _claim(study: Study) -> None:
    edit(study.prereg / "killed_chain.yaml", "at_most: 1.0e-9", "at_most: 1.0e-8")


def _comment(study: Study) -> None:
    edit(study.prereg / "killed_chain.yaml", "# angles", "# half angles")


def _claim_missing(study: Study) -> None:
    (study.prereg / "killed_chain.yaml").unlink()


def _subject(study: Study) -> None:
    edit(study.subjects_file, "bos: 50256", "bos: 1")


def _subject_missing(study: Study) -> None:
    edit(study.subjects_file, "  gpt2:", "  gpt-2:")


def _seed(study: Study) -> None:
    edit(study.subjects_file, "seed: 20261201", "seed: 20261202")


def _text(study: Study) -> None:
    edit(study.subjects_file, "drop_repeats: 200 ", "drop_repeats: 100 ")


def _outcome(study: Study) -> None:
    edit(study.prereg / "outcomes" / "signed_census.yaml", "refuted", "supported")


def _metric(study: Study) -> None:
    edit(study.prereg / "outcomes" / "signed_census.yaml", "size: 0.1", "size: 0.2")


def _outcome_missing(study: Study) -> None:
    (study.prereg / "outcomes" / "signed_census.yaml").unlink()


def _outcome_added(study: Study) -> None:
    shutil.copy(study.prereg / "outcomes" / "sink_floor.yaml", study.prereg / "outcomes" / "killed_chain.yaml")


def _line_removed(study: Study) -> None:
    write_lines(study, lines(study)[:3] + lines(study)[4:])


def _first_line_removed(study: Study) -> None:
    write_lines(study, lines(study)[1:])


def _lines_swapped(study: Study) -> None:
    old = lines(study)
    write_lines(study, [*old[:3], old[4], old[3], *old[5:]])


def _line_edited(study: Study) -> None:
    old = lines(study)
    write_lines(study, [*old[:3], old[3].replace("2026-12-01", "2026-11-01"), *old[4:]])


def _last_line_edited(study: Study) -> None:
    old = lines(study)
    write_lines(study, [*old[:-1], old[-1].replace('"run": "', '"run": "x')])


def _line_repeated(study: Study) -> None:
    write_lines(study, [*lines(study), lines(study)[-1]])


def _line_cut(study: Study) -> None:
    path = study.prereg / "LEDGER"
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")


def _line_of_other_kind(study: Study) -> None:
    write_lines(study, [*lines(study), '{"seq": 99}'])


def _outcome_line_removed(study: Study) -> None:
    write_lines(study, lines(study)[:-1])


TAMPERINGS = {
    "killed_chain.yaml": [_claim, _comment, _claim_missing],
    "subjects.yaml": [_subject, _subject_missing, _seed, _text],
    "outcomes/": [_outcome, _metric, _outcome_missing, _outcome_added, _outcome_line_removed],
    "LEDGER line": [
        _line_removed,
        _first_line_removed,
        _lines_swapped,
        _line_edited,
        _last_line_edited,
        _line_repeated,
        _line_cut,
        _line_of_other_kind,
    ],
}


@pytest.mark.parametrize(
    ("named", "tamper"), [(named, tamper) for named, tampers in TAMPERINGS.items() for tamper in tampers]
)
def test_every_tampering_is_named(frozen: Study, named: str, tamper: Callable[[Study], None]) -> None:
    """What was promised and found can't be changed without the verification saying what."""
    assert verify(frozen).problems == ()
    tamper(frozen)
    assert any(named in problem for problem in Ledger.load(frozen).verify(frozen))


def test_the_project_is_as_registered(project: Study) -> None:
    """The study's own frozen files, and a hash that must never change its meaning."""
    assert verify(project).problems == ()


def test_nothing_is_appended_to_a_broken_chain(frozen: Study) -> None:
    """A new line would lend an edited chain a fresh head."""
    _line_edited(frozen)
    with pytest.raises(LedgerError, match="chain is broken"):
        register(frozen, ["interior_growth"])


def test_adding_a_subject_and_a_cohort_breaks_nothing(frozen: Study) -> None:
    """The study grows by subjects."""
    edit(frozen.subjects_file, "  gpt2:\n", "  mini: {bos: 0, trained: false}\n  gpt2:\n")
    edit(frozen.subjects_file, "embedded: [smollm2-135m, ", "embedded: [smollm2-135m, mini, ")
    assert Ledger.load(frozen).verify(frozen) == []
    assert [entry.what for entry in register(frozen, [], today=DAY)] == ["subject:mini"]


def test_unregistered_files_are_drafts(frozen: Study) -> None:
    """A YAML without a ledger line is listed, never counted, and free to change."""
    edit(frozen.prereg / "interior_growth.yaml", "at_least: 1}", "at_least: 2}")
    found = verify(frozen)
    assert found.problems == ()
    assert "interior_growth" in found.drafts
    assert found.claims == tuple(sorted(CLAIMS))
    assert found.anchor.startswith("unanchored")


def test_concurrent_registrations_keep_the_chain(study: Study) -> None:
    """Two people, or two scripts, may register at once: no line may be lost."""
    names = ["sink_floor", "signed_census", "killed_chain", "interior_growth"]
    code = (
        "import sys; from pathlib import Path; from resolvent.study import open_study; "
        "from resolvent.registry import register; register(open_study(Path(sys.argv[1])), [sys.argv[2]])"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(study.root), name]) for name in names]
    assert [process.wait() for process in started] == [0] * len(names)
    ledger = Ledger.load(study)
    assert ledger.registered_claims() == set(names)
    assert ledger.verify(study) == []
    assert len({entry.what for entry in ledger.entries}) == len(ledger.entries)


def new_version(study: Study, tmp_path: Path) -> Path:
    path = tmp_path / "new.yaml"
    shutil.copy(study.prereg / "signed_census.yaml", path)
    edit(path, "at_least: 0.55", "at_least: 0.6")
    return path


def test_amendment_keeps_the_old_version_and_its_outcomes(frozen: Study, tmp_path: Path) -> None:
    """Both versions and both verdicts are shown afterwards; the new one starts without an outcome."""
    entry = amend(frozen, "signed_census", new_version(frozen, tmp_path), "the threshold was a slip", today=DAY)
    assert (entry.event, entry.reason) == ("amended", "the threshold was a slip")
    assert load_claim(frozen.prereg / "signed_census.yaml").criteria["sink_majority"].support.at_least == 0.6
    (amendment,) = amendments(frozen, "signed_census")
    assert amendment.outcomes[SUBJECT].verdict == "refuted"
    assert "at_least: 0.55" in amendment.file.read_text(encoding="utf-8")
    assert ("signed_census", SUBJECT) not in recorded(frozen)
    assert verify(frozen).problems == ()
    record(frozen, run_folder(frozen, {"signed_census": "supported"}, name="later"), today=DAY)
    assert recorded(frozen)["signed_census", SUBJECT].verdict == "supported"
    assert amendments(frozen, "signed_census")[0].outcomes[SUBJECT].verdict == "refuted"
    assert verify(frozen).problems == ()


def test_superseded_versions_stay_frozen(frozen: Study, tmp_path: Path) -> None:
    """An amendment must not be a way to rewrite what was promised first."""
    amend(frozen, "signed_census", new_version(frozen, tmp_path), "a slip", today=DAY)
    folder = frozen.prereg / "amendments"
    edit(folder / "signed_census.1.yaml", "at_least: 0.55", "at_least: 0.6")
    edit(folder / "signed_census.1.outcomes.yaml", "refuted", "supported")
    problems = Ledger.load(frozen).verify(frozen)
    assert [problem.partition(":")[0] for problem in problems] == [
        "prereg/amendments/signed_census.1.yaml",
        "prereg/amendments/signed_census.1.outcomes.yaml",
    ]


def test_amendments_are_numbered(frozen: Study, tmp_path: Path) -> None:
    """A claim may be amended twice; each version is kept."""
    amend(frozen, "signed_census", new_version(frozen, tmp_path), "first", today=DAY)
    path = new_version_from(frozen, tmp_path)
    amend(frozen, "signed_census", path, "second", today=DAY)
    assert [(a.number, a.reason) for a in amendments(frozen, "signed_census")] == [(1, "first"), (2, "second")]
    assert verify(frozen).problems == ()


def new_version_from(study: Study, tmp_path: Path) -> Path:
    path = tmp_path / "newer.yaml"
    shutil.copy(study.prereg / "signed_census.yaml", path)
    edit(path, "at_least: 0.6", "at_least: 0.7")
    return path


def test_amendment_needs_reason_registration_and_change(frozen: Study, tmp_path: Path) -> None:
    """Each of these would leave a line that says nothing."""
    path = new_version(frozen, tmp_path)
    with pytest.raises(LedgerError, match="needs a reason"):
        amend(frozen, "signed_census", path, "  ")
    with pytest.raises(LedgerError, match="not registered"):
        amend(frozen, "interior_growth", path, "why")
    with pytest.raises(LedgerError, match="nothing to amend"):
        amend(frozen, "signed_census", frozen.prereg / "signed_census.yaml", "why")
    with pytest.raises(ResolventError, match=r"new\.yaml: claim: found 'signed_census'; allowed: 'sink_floor'"):
        amend(frozen, "sink_floor", path, "why")
    broken = tmp_path / "broken.yaml"
    broken.write_text("claim: [", encoding="utf-8")
    with pytest.raises(ResolventError, match=r"broken\.yaml: line 2: not valid YAML"):
        amend(frozen, "signed_census", broken, "why")
    assert verify(frozen).problems == ()


def test_amendment_in_place_is_refused(frozen: Study) -> None:
    """Edited in place, the registered version would be lost."""
    path = frozen.prereg / "signed_census.yaml"
    edit(path, "at_least: 0.55", "at_least: 0.6")
    with pytest.raises(LedgerError, match="restore it"):
        amend(frozen, "signed_census", path, "why")


def test_interrupted_amendment_is_finished_by_repeating_it(
    frozen: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the files and the ledger line the power may fail."""
    path = new_version(frozen, tmp_path)

    def fail(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(registering, "append", fail)
        with pytest.raises(OSError, match="no space"):
            amend(frozen, "signed_census", path, "why", today=DAY)
    assert verify(frozen).problems != ()
    amend(frozen, "signed_census", path, "why", today=DAY)
    assert verify(frozen).problems == ()
    assert amendments(frozen, "signed_census")[0].outcomes[SUBJECT].verdict == "refuted"


def git(study: Study, *arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "-C", str(study.root), *identity, *arguments], check=True, capture_output=True)


def test_dropped_last_lines_show_against_git(frozen: Study) -> None:
    """A chain cut at its end is a sound chain; only the committed one tells."""
    git(frozen, "init", "-q")
    git(frozen, "add", "prereg")
    git(frozen, "commit", "-q", "-m", "registered")
    assert verify(frozen).problems == ()
    kept = [line for line in lines(frozen) if '"outcome"' not in line]
    write_lines(frozen, kept)
    shutil.rmtree(frozen.prereg / "outcomes")
    assert Ledger.load(frozen).verify(frozen) == []
    assert any("removed or edited since" in problem for problem in verify(frozen).problems)


def test_head_is_anchored_by_a_signed_tag_only(frozen: Study, tmp_path: Path) -> None:
    """An unsigned tag, or none, proves nothing about the date."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen, which signs the test's tag, is not installed")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (tmp_path / "signers").write_text(f"test@example.org {key.with_suffix('.pub').read_text()}")
    git(frozen, "init", "-q")
    for name, value in {"gpg.format": "ssh", "gpg.ssh.allowedSignersFile": str(tmp_path / "signers")}.items():
        git(frozen, "config", name, value)
    git(frozen, "add", "prereg")
    git(frozen, "commit", "-q", "-m", "registered")
    git(frozen, "tag", "-a", "plain", "-m", "unsigned")
    git(frozen, "-c", f"user.signingkey={key}", "tag", "-s", "frozen", "-m", "signed")
    signed = verify(frozen, tag="frozen")
    assert signed.problems == ()
    assert signed.anchor == f"anchored by the signed tag frozen up to line {len(lines(frozen)) - 1}"
    for tag in ("plain", "absent"):
        found = verify(frozen, tag=tag)
        assert found.anchor.startswith("unanchored")
        assert any(f"tag {tag}" in problem for problem in found.problems)
