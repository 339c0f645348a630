"""A run on disk."""

import datetime
import json

import pytest
from builders import verdict_line

from resolvent.errors import ResolventError
from resolvent.report.run_folder import RunFolder, read_run

NOON = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)


def test_runs_of_one_second_get_folders_of_their_own(tmp_path):
    """`latest` points to the newer, and none is overwritten."""
    first, second = (RunFolder.create(tmp_path / "runs", now=NOON) for _ in range(2))
    assert first.path != second.path
    assert (tmp_path / "runs" / "latest").resolve() == second.path


def test_a_killed_run_is_read_up_to_its_last_whole_line(tmp_path):
    """Verdicts are written as they arrive; a line cut off by the kill is left out."""
    folder = RunFolder.create(tmp_path, now=NOON)
    folder.append(verdict_line(claim="b").to_json_line())
    folder.append(verdict_line(claim="a").to_json_line())
    assert [line.pair[0] for line in read_run(folder.path).lines] == ["b", "a"]
    file = folder.path / "verdicts.jsonl"
    file.write_text(file.read_text()[:-20])
    run = read_run(folder.path)
    assert [line.pair[0] for line in run.lines] == ["b"]
    assert run.provenance == {}


def test_a_finished_run_is_sorted(tmp_path):
    """The order of arrival is the scheduler's; the file is not."""
    folder = RunFolder.create(tmp_path, now=NOON)
    lines = [verdict_line(claim=claim, subject=subject) for claim in "cab" for subject in "yx"]
    for line in lines:
        folder.append(line.to_json_line())
    folder.finish(lines, {"seed": 7}, "# report\n")
    run = read_run(folder.path)
    assert [line.pair for line in run.lines] == sorted(line.pair for line in lines)
    assert json.loads((folder.path / "provenance.json").read_text()) == {"seed": 7}
    assert sorted(file.name for file in folder.path.iterdir()) == ["provenance.json", "report.md", "verdicts.jsonl"]


def test_an_edited_line_is_named(tmp_path):
    """A file that isn't verdicts is not half read."""
    (tmp_path / "verdicts.jsonl").write_text('{"claim": 1}\n' + verdict_line().to_json_line() + "\n")
    with pytest.raises(ResolventError, match="line 1 is no verdict"):
        read_run(tmp_path)
    with pytest.raises(ResolventError, match="runs/<timestamp>"):
        read_run(tmp_path / "nowhere")
