"""The command line: thin over its floors, mistakes shown as one message."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from resolvent.cli import main

sys.path.insert(0, str(Path(__file__).parent / "plugin"))
from mini_study import MiniStudy

COLUMNS = [
    "name",
    "n",
    "kreiss",
    "kreiss_upper",
    "kreiss_at",
    "rho_eps_1e-1",
    "rho_eps_1e-2",
    "rho_eps_1e-3",
    "transient",
    "transient_upper",
    "k_sup",
    "spectral_radius",
    "operator_norm",
    "departure",
    "log10_condition",
    "bos_mass",
    "diagonal_mass",
    "previous_token_mass",
    "row_entropy",
    "normalised_entropy",
    "dobrushin",
    "absorbing_rows",
]


def causal(*shape):
    """A stack of causal stochastic matrices."""
    matrices = np.tril(np.random.default_rng(5).random(shape))
    return matrices / matrices.sum(axis=-1, keepdims=True)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A registered study in miniature, as the current directory."""
    made = MiniStudy(tmp_path / "study")
    made.claim("good", texts=1)
    made.claim("bad", value=0.1, texts=1)
    monkeypatch.chdir(made.root)
    monkeypatch.setenv("COLUMNS", "160")
    for name in ("RESOLVENT_EVIDENCE", "RESOLVENT_FETCHED"):
        monkeypatch.delenv(name, raising=False)
    return made


def test_a_mistake_is_one_message(tmp_path, monkeypatch, capsys):
    """A user's mistake gets no traceback, and its own exit status."""
    monkeypatch.chdir(tmp_path)
    assert main(["verify"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("resolvent: ")
    assert "no study here" in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "command",
    [
        *("register", "new-claim", "rehearse", "verify", "amend", "record", "subjects", "plan", "fetch", "battery"),
        *("evidence", "report", "show", "compare", "figure"),
    ],
)
def test_every_command_explains_itself(command, capsys):
    """--help works for each, without a study."""
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert command in capsys.readouterr().out


def test_the_life_of_a_claim(study, capsys):
    """register, run, report, record, verify, amend: the commands fit together, and an edit is found."""
    assert main(["register", "good", "bad", "--unchecked"]) == 0
    assert "registered claim:good" in capsys.readouterr().out
    assert main(["register", "good"]) == 0
    assert "nothing new" in capsys.readouterr().out
    assert main(["register"]) == 0
    assert "no claim was named: resolvent register CLAIM" in capsys.readouterr().out
    run = study.run("claims")
    assert run.code == 1
    assert main(["report", "-v"]) == 0
    shown = capsys.readouterr().out
    assert "REFUTED" in shown
    assert "size = 0.1, refuted by < 0.3" in shown
    assert (run.folder / "report.md").read_text() == run.report
    assert main(["record", "runs/latest"]) == 0
    assert "recorded bad on ada" in capsys.readouterr().out
    assert main(["verify"]) == 0
    assert "verified" in capsys.readouterr().out
    text = Path("prereg/bad.yaml").read_text()
    study.write("new.yaml", text.replace("at_least: 0.5", "at_least: 0.05").replace("below: 0.3", "below: 0.01"))
    assert main(["amend", "bad", "new.yaml", "--reason", "the threshold was mistyped"]) == 0
    capsys.readouterr()
    amended = study.run("claims")
    assert amended.code == 0, amended.output
    assert amended.verdicts["bad", "ada"]["kind"] == "post_hoc"
    assert "Amended on" in amended.report
    assert "ada: refuted" in amended.report
    study.write("prereg/good.yaml", Path("prereg/good.yaml").read_text().replace("0.5", "0.4"))
    assert main(["verify"]) == 1
    assert "prereg/good.yaml: differs" in capsys.readouterr().out


def test_partial_runs_are_not_recorded(study, capsys):
    """A selection after the fact is no outcome."""
    study.register()
    study.run("claims", "-k", "good")
    assert main(["record", "runs/latest"]) == 2
    assert "PARTIAL" in capsys.readouterr().err


def test_subjects_are_listed_with_their_availability(study, capsys):
    """What is missing names the command that brings it."""
    assert main(["subjects"]) == 0
    out = capsys.readouterr().out
    assert "ada  [embedded]" in out
    assert "norm rmsnorm, positions rope, layers 2, heads 2" in out
    assert "from the wheel ada 1.0.0" in out
    assert "run: resolvent fetch ghost" in out


def test_plan_takes_pytest_s_own_arguments(study, capfd):
    """-k means there what it means in a run."""
    study.register()
    assert main(["plan", "-k", "good", "--subject=ada", "-n", "3"]) == 0
    out = capfd.readouterr().out
    assert "2 are missing" in out
    assert "with 3 processes" in out


@pytest.mark.parametrize("folder", ["claims", "prereg"])
def test_plan_reads_paths_from_where_one_stands(study, monkeypatch, capfd, folder):
    """As pytest does; without a path it is about the whole study."""
    study.claim("other", texts=3, file="test_other.py")
    study.register()
    monkeypatch.chdir(study.root / folder)
    assert main(["plan", "--subject=ada"]) == 0
    assert "6 are missing" in capfd.readouterr().out
    path = os.path.relpath(study.root / "claims/test_all.py")
    assert main(["plan", "--subject=ada", path]) == 0
    assert "2 are missing" in capfd.readouterr().out


def test_plan_takes_another_study_and_a_model_beside_oneself(study, tmp_path, monkeypatch, capfd):
    """Away from the study, --subject=DIR is where one stands, and the claims are the study's."""
    config = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/config.json").write_text(json.dumps({**config, "vocab_size": 9, "bos_token_id": 0}))
    (tmp_path / "mine/tokenizer_config.json").write_text('{"bos_token": null}')
    (tmp_path / "mine/tokenizer.json").write_text("{}")
    (tmp_path / "mine/model.safetensors").write_bytes(b"")
    text = (study.root / "prereg/subjects.yaml").read_text()
    study.write(
        "prereg/subjects.yaml", text.replace("  words:", "  hansard:").replace("corpus: words", "corpus: hansard")
    )
    study.write(".fetched/texts/hansard/words.txt", "")
    study.register()
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--study", str(study.root), "-k", "good", "--subject=mine"]) == 0
    out = capfd.readouterr().out
    assert "2 are missing" in out
    assert "base [mine]" in out


def resolvent(*arguments):
    """The command in a process of its own: it imports a study's modules."""
    command = [sys.executable, "-m", "resolvent.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_evidence_is_listed_and_deleted_on_request_only(study):
    """What no claim needs any more goes; what one needs stays, its inputs included."""
    study.register()
    study.run("claims")
    study.write("fake_evidence.py", Path("fake_evidence.py").read_text().replace("2 * given", "3 * given"))
    study.run("claims", "-k", "good", "--subject=ada")
    listed = resolvent("evidence").stdout
    assert "6 shards" in listed
    assert "--delete removes 4 shards that no claim needs" in listed  # made by the stages as they were
    (study.root / ".evidence/shards" / f"{'9' * 64}.parquet").write_bytes(b"alone")
    assert "removes 4 shards that no claim needs as it stands and remains of 1 others" in resolvent("evidence").stdout
    assert "deleted 4 shards" in resolvent("evidence", "--delete").stdout
    assert "2 shards" in resolvent("evidence").stdout
    study.write("claims/test_broken.py", "import nothing_of_that_name\n")
    refused = resolvent("evidence", "--delete")
    assert refused.returncode == 2
    assert "nothing_of_that_name" in refused.stderr


@pytest.mark.parametrize("suffix", ["json", "csv", "parquet"])
def test_battery_writes_a_row_a_matrix(tmp_path, capsys, suffix):
    """The columns are the contract with everybody's notebooks."""
    np.savez(tmp_path / "mine.npz", single=causal(6, 6), stack=causal(2, 5, 5))
    output = tmp_path / f"table.{suffix}"
    assert main(["battery", str(tmp_path / "mine.npz"), "-o", str(output)]) == 0
    if suffix == "json":
        records = json.loads(output.read_text())
        names, columns = [record["name"] for record in records], list(records[0])
        assert records[1]["n"] == 5
        assert isinstance(records[1]["absorbing_rows"], int)
    elif suffix == "csv":
        lines = output.read_text().splitlines()
        columns, names = lines[0].split(","), [line.split(",")[0] for line in lines[1:]]
    else:
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(output)
        columns, names = table.column_names, table["name"].to_pylist()
    assert columns == COLUMNS
    assert names == ["single", "stack[0]", "stack[1]"]
    assert "3 matrices" in capsys.readouterr().out


def test_battery_prints_without_an_output(tmp_path, capsys, monkeypatch):
    """A .npy array has the file's name; no bar where standard error is no terminal, nothing folded for a pipe."""
    monkeypatch.delenv("COLUMNS", raising=False)
    np.save(tmp_path / "heads.npy", causal(2, 4, 4).astype(np.float32))
    assert main(["battery", str(tmp_path / "heads.npy")]) == 0
    captured = capsys.readouterr()
    assert captured.out.split()[: len(COLUMNS)] == COLUMNS
    assert "heads[1]" in captured.out
    assert captured.err == ""


def test_battery_folds_its_table_to_the_terminal(tmp_path, capsys, monkeypatch):
    """Blocks of columns, each with the names again: no line is wider than the terminal, no column is lost."""
    np.save(tmp_path / "heads.npy", causal(3, 4, 4))
    monkeypatch.setenv("COLUMNS", "70")
    assert main(["battery", str(tmp_path / "heads.npy")]) == 0
    blocks = [block.splitlines() for block in capsys.readouterr().out.strip("\n").split("\n\n")]
    assert len(blocks) > 1
    assert all(len(line) <= 70 for block in blocks for line in block)
    assert all([line.split()[0] for line in block] == ["name", "heads[0]", "heads[1]", "heads[2]"] for block in blocks)
    assert ["name", *(column for block in blocks for column in block[0].split()[1:])] == COLUMNS


def test_battery_takes_the_arrays_that_are_asked_for(tmp_path, capsys):
    np.savez(tmp_path / "mixed.npz", attention=causal(2, 4, 4), more=causal(3, 3), ids=np.arange(4))
    output = tmp_path / "table.json"
    assert main(["battery", str(tmp_path / "mixed.npz")]) == 2
    assert "--array" in capsys.readouterr().err
    assert main(["battery", str(tmp_path / "mixed.npz"), "--array", "attention", "-o", str(output)]) == 0
    assert [record["name"] for record in json.loads(output.read_text())] == ["attention[0]", "attention[1]"]
    assert main(["battery", str(tmp_path / "mixed.npz"), "--array", "nothing"]) == 2
    assert "no array 'nothing'; it holds attention, more, ids" in capsys.readouterr().err


def test_battery_reads_what_a_file_is_not_what_it_is_called(tmp_path, capsys):
    np.savez(tmp_path / "archive.npz", heads=causal(4, 4))
    (tmp_path / "archive.npz").rename(tmp_path / "archive.npy")
    np.save(tmp_path / "single.npy", causal(4, 4))
    (tmp_path / "single.npy").rename(tmp_path / "single.npz")
    for name, row in (("archive.npy", "heads"), ("single.npz", "single")):
        assert main(["battery", str(tmp_path / name)]) == 0
        assert row in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "foreign.npz", "w") as archive:
        archive.writestr("readme.txt", "no array")
    assert main(["battery", str(tmp_path / "foreign.npz")]) == 2
    assert "'readme.txt' is not an array" in capsys.readouterr().err


def test_a_name_that_the_terminal_cannot_show_does_not_end_a_command(tmp_path):
    np.savez(tmp_path / "names.npz", tête=causal(4, 4))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "resolvent.cli", "battery", str(tmp_path / "names.npz")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "t?te" in done.stdout


def test_battery_help_says_what_each_column_is(capsys):
    with pytest.raises(SystemExit):
        main(["battery", "--help"])
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in COLUMNS[2:])


def test_infinities_survive_json(tmp_path):
    """K = 1 is attained at infinity, and JSON has no word for it: 1e999 reads back as infinity."""
    np.save(tmp_path / "uniform.npy", np.array([[1.0, 0.0], [0.5, 0.5]]))
    output = tmp_path / "table.json"
    assert main(["battery", str(tmp_path / "uniform.npy"), "-o", str(output)]) == 0
    assert "Infinity" not in output.read_text()
    assert json.loads(output.read_text())[0]["kreiss_at"] == np.inf


def offending():
    matrices = causal(3, 4, 4)
    matrices[1, 2, 3] = 0.25
    return matrices


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"fine": causal(4, 4), "heads": offending()}, "heads[1]: row 2, column 3: 0.25"),
        ({"flat": np.ones(4)}, "array 'flat' has shape (4,)"),
        ({"oblong": np.ones((2, 3))}, "array 'oblong' has shape (2, 3)"),
        ({"words": np.array([["a"]])}, "array 'words' has dtype"),
        ({}, "holds no array"),
    ],
)
def test_battery_names_what_it_refuses(tmp_path, capsys, arrays, message):
    """The first offending entry, with array, index, row and column, before anything is measured."""
    np.savez(tmp_path / "mine.npz", **arrays)
    assert main(["battery", str(tmp_path / "mine.npz")]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "output", "message"),
    [
        ("none.npz", None, "no such file"),
        ("torn.npz", None, "not a readable array file"),
        ("torn.npy", None, "not a readable array file"),
        ("matrices.txt", None, "allowed: .npy, .npz"),
        ("torn.npz", "table.xlsx", "allowed: .parquet, .csv, .json"),
        ("torn.npz", "nowhere/table.csv", "folder does not exist"),
    ],
)
def test_battery_says_which_file_is_wrong(tmp_path, monkeypatch, capsys, file, output, message):
    """Files cut short, unknown formats, missing folders."""
    monkeypatch.chdir(tmp_path)
    for name in ("torn.npz", "torn.npy"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 cut short")
    assert main(["battery", file, *(["-o", output] if output else [])]) == 2
    assert message in capsys.readouterr().err


def test_compare_ends_with_1_on_a_flip_only(study, capsys):
    """A script must be able to ask whether anything flipped."""
    study.register()
    first = study.run("claims", "--run-dir=runs/first")
    study.run("claims", "--run-dir=runs/second")
    assert main(["compare", "first", "second", "-o", "compare.html"]) == 0
    assert "0 flips; 0 values differ" in capsys.readouterr().out
    assert "NO FLIP" in Path("compare.html").read_text()
    folder = Path("runs/second/verdicts.jsonl")
    lines = [json.loads(line) for line in folder.read_text().splitlines()]
    lines[0]["verdict"] = "supported" if lines[0]["verdict"] != "supported" else "refuted"
    folder.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["compare", "runs/first", "runs/second", "-o", "compare.html"]) == 1
    out = capsys.readouterr().out
    assert "FLIPPED" in out
    assert "dequantised from Q4_1" in out
    assert "FLIPPED" in Path("compare.html").read_text()
    assert main(["compare", "runs/first", "runs/nothing"]) == 2
    assert first.code == 1


def test_show_prints_a_claim(study, capsys):
    """What is frozen, and what came of it."""
    assert main(["show", "good"]) == 0
    assert "unregistered draft" in capsys.readouterr().out
    study.register()
    study.run("claims")
    assert main(["record", "runs/latest"]) == 0
    capsys.readouterr()
    assert main(["show", "good"]) == 0
    out = capsys.readouterr().out
    for word in ("The size is large.", "size: supports if >= 0.5, refutes if < 0.3", "registered", "size = 0.9"):
        assert word in out, word
    assert "ada (dequantised from Q4_1, 2 layers of 2 heads): supported" in out
    assert main(["show", "nothing"]) == 2
    assert "known are bad, good" in capsys.readouterr().err


def test_a_run_leaves_a_page_and_report_makes_it_again(study, capsys):
    """The same page from the same run, as long as study and evidence stand."""
    study.register()
    run = study.run("claims")
    page = run.folder / "report.html"
    before = page.read_text()
    assert "report.html" in run.output
    page.unlink()
    assert main(["report"]) == 0
    capsys.readouterr()
    assert page.read_text() == before
    assert set(run.provenance) >= {"expected", "errors", "claims"}
    assert run.provenance["claims"]["good"]["protocol"]["texts"] == 1


def test_figures_are_drawn_from_files(tmp_path, capsys):
    """Training trajectories, bars and contest intervals: anybody's numbers."""
    data, output = tmp_path / "data.json", tmp_path / "figure.svg"
    data.write_text('{"quantity": "loss, nats", "tokens": [0, 1e6], "lines": {"all": [3.0, 2.0]}}')
    assert main(["figure", "trajectories", "--data", str(data), "-o", str(output)]) == 0
    assert "<svg" in output.read_text()
    capsys.readouterr()
    for arguments, message in (
        (["nothing"], "known are signed-census"),
        (["clamping"], "--data FILE.json"),
        (["clamping", "--data", str(data)], "no data of the figure 'clamping'"),
        (["contest", "--data", str(data)], "nothing to draw"),
        (["contest", "--data", str(tmp_path / "none.json")], "cannot be read"),
    ):
        assert main(["figure", *arguments, "-o", str(output)]) == 2
        assert message in capsys.readouterr().err
    assert main(["figure", "contest", "-o", "figure.gif"]) == 2
    assert "allowed: .svg, .png, .pdf" in capsys.readouterr().err
