"""Folders that can't be written, models that aren't whole: one line each, and nothing that was found is lost."""

import json

import pytest

from resolvent.errors import ResolventError
from resolvent.report.run_folder import read_run

LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8, "vocab_size": 9}

READ_ONLY = """

from resolvent.evidence.store import Store, StoreNotWritable


def refuse(self, file, data):
    raise StoreNotWritable("read-only")


Store._put = refuse
Store.why_not_writable = lambda self: "the store is read-only"
"""

FULL_DISK = """import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    """


def refused(run, line):
    """Whether a run ended at its start, with that one line."""
    assert run.code == 4, run.output
    assert line in run.output
    assert "Traceback" not in run.output
    assert "INTERNALERROR" not in run.output
    return True


@pytest.mark.parametrize("workers", ["0", "2"])
def test_evidence_needs_a_folder(study, workers):
    """A file in its place, or a place where nothing can be made, is told before anything is tried."""
    study.claim("good", texts=1)
    study.register()
    study.write("taken", "")
    assert refused(study.run("-n", workers, "--evidence-dir=taken"), "taken is a file, not a folder")
    assert refused(study.run("-n", workers, "--evidence-dir=/proc/none"), "/proc/none: nothing can be written there")


def test_a_store_that_cannot_be_written_serves_what_it_has(study):
    """On a read-only mount the claims whose evidence is complete are judged, others are refused in one line."""
    study.claim("good", texts=1)
    study.claim("more", texts=2)
    study.register()
    assert study.run("-k", "good").code == 0
    study.write("conftest.py", (study.root / "conftest.py").read_text() + READ_ONLY)
    assert study.run("-k", "good").code == 0
    assert refused(study.run("-k", "more", "-n", "0"), "read-only, and 4 shards of evidence are missing")
    assert study.run("-k", "more", "--resolvent-plan").code == 0


@pytest.mark.parametrize("workers", ["0", "2"])
def test_runs_need_a_folder(study, workers):
    """Verdicts that can't be kept are not worked out."""
    study.claim("good", texts=1)
    study.register()
    study.write("runs", "")
    assert refused(study.run("-n", workers), "runs is a file, not a folder")
    assert refused(study.run("-n", workers, "--run-dir=/proc/none"), "/proc/none: nothing can be written there")
    assert study.run("--collect-only").code == 0


def test_a_disk_that_fills_up_does_not_take_the_table(study):
    """An hour's verdicts are shown at least; the run says that it isn't kept, and fails."""
    study.claim("good", texts=1)
    study.claim("last", texts=1, body=FULL_DISK + "claim.judge(size=numbers.value, heads=numbers.count)")
    study.register()
    run = study.run("--subject=ada", "-n", "0", "-p", "no:cacheprovider")
    assert run.code == 1, run.output
    assert "confirmatory: 2 SUPPORTED" in run.output
    assert "can't be written (File too large): this run is not kept" in run.output
    assert "Traceback" not in run.output
    assert "INTERNALERROR" not in run.output
    assert not list(run.folder.glob("*.tmp"))


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_model_without_weights_is_unavailable(study, workers):
    """One line for it, verdicts for the others, and the run is kept."""
    study.claim("good", texts=1)
    study.register()
    study.write("mine/config.json", json.dumps(LLAMA))
    study.write("subjects.local.yaml", "subjects: {gone: {local: mine, bos: 0, corpus: words}}\n")
    run = study.run("--subject=gone,ada", "-n", workers)
    assert run.code == 1
    assert run.words == {"good[ada]": "SUPPORTED"}
    assert "mine has no weights (*.safetensors or *.bin)" in run.provenance["unavailable"]["gone"]
    assert "no weights here" in run.provenance["subjects"]["gone"]["identity"]
    assert "good[gone] UNAVAILABLE" in run.output or "UNAVAILABLE: gone: " in run.output
    assert "Traceback" not in run.output


def test_two_tests_of_a_claim_are_named(study):
    """Which of two files to delete must be told, also where both say the same word."""
    study.claim("good", texts=1)
    for file, value in (("test_a.py", 0.8), ("test_b.py", 0.7), ("test_c.py", 0.1)):
        study.write(f"claims/{file}", f"def test_good(claim, numbers):\n    claim.judge(size={value}, heads=5)\n")
    (study.root / "claims/test_all.py").unlink()
    study.register()
    run = study.run("claims/test_a.py", "claims/test_b.py", "--subject=ada", "-n", "0")
    assert run.code == 1
    assert "supported by claims/test_a.py, supported with other metrics by claims/test_b.py" in run.output
    other = study.run("claims/test_a.py", "claims/test_c.py", "--subject=ada", "-n", "0")
    assert "supported by claims/test_a.py, refuted by claims/test_c.py" in other.output


@pytest.mark.parametrize("text", ["[]", "3", '"x"'])
def test_a_provenance_that_is_no_object_is_named(study, text):
    """Whatever JSON a file holds, reading a run ends in one message."""
    study.claim("good", texts=1)
    run = study.run("-n", "0")
    (run.folder / "provenance.json").write_text(text)
    with pytest.raises(ResolventError, match=r"provenance\.json: expected a JSON object, found"):
        read_run(run.folder)
