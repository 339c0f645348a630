"""The registered study on a tiny model, through the front door: verdicts, workers, kills."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tiny_study import make_study, run_study, start_study, verdicts

from resolvent.models.subjects import load_subjects
from resolvent.registry import Ledger, load_claim
from resolvent.study import open_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("study") / "tiny")


@pytest.fixture(scope="module")
def undisturbed(study: Path) -> bytes:
    """The verdict file of a run without workers."""
    run_study(study, f"--evidence-dir={study / 'first'}")
    return verdict_file(study)


def verdict_file(root: Path) -> bytes:
    return (root / "runs" / "latest" / "verdicts.jsonl").read_bytes()


def sidecars(store: Path) -> list[Path]:
    """One a complete shard."""
    return list((store / "shards").glob("*.json"))


class StoreWatch(threading.Thread):
    """Polls a store and notes every version of every sidecar: a complete shard must have one."""

    def __init__(self, store: Path) -> None:
        super().__init__(daemon=True)
        self._store = store
        self._ended = threading.Event()
        self.versions: dict[str, set[tuple[int, int]]] = {}

    def run(self) -> None:
        while not self._ended.wait(0.02):
            self._look()

    def end(self) -> None:
        self._ended.set()
        self.join()
        self._look()

    def _look(self) -> None:
        for sidecar in sidecars(self._store):
            try:
                status = sidecar.stat()
            except FileNotFoundError:
                continue
            self.versions.setdefault(str(sidecar), set()).add((status.st_ino, status.st_mtime_ns))


def test_every_registered_claim_gets_a_verdict(study: Path, undisturbed: bytes) -> None:
    """A claim without a verdict would be a gap that nobody sees in a green run."""
    found = {line["claim"]: line["verdict"] for line in verdicts(study)}
    registered = Ledger.load(open_study(study)).registered_claims()
    tiny = load_subjects(open_study(study)).subjects["tiny"].attributes()
    claims = {name: load_claim(study / "prereg" / f"{name}.yaml") for name in registered}
    assert set(found) == {name for name, claim in claims.items() if claim.applicable(tiny)}
    assert len(found) >= 20
    assert set(found.values()) <= {"supported", "refuted", "undecided", "inestimable"}
    assert found["mask_saturation"] == found["killed_chain"] == "supported", "theorems hold for any weights"


def test_workers_and_one_process_give_equal_files(study: Path, undisturbed: bytes) -> None:
    """Verdicts that depend on the number of workers could not be compared between machines."""
    run_study(study, "-n", "3", f"--evidence-dir={study / 'second'}")
    assert verdict_file(study) == undisturbed


def test_a_second_run_computes_nothing(study: Path, undisturbed: bytes) -> None:
    """All evidence is in the store: no shard may be planned again."""
    result = run_study(study, "-v", f"--evidence-dir={study / 'first'}")
    assert "evidence::" not in result.stdout
    assert verdict_file(study) == undisturbed


def test_killed_workers_change_nothing(study: Path, undisturbed: bytes) -> None:
    """kill -9 of workers, three times in a row, costs at most the shards in flight."""
    store = study / "killed"
    process = start_study(study, "-n", "4", f"--evidence-dir={store}")
    watch = StoreWatch(store)
    watch.start()
    output: list[str] = []
    reader = threading.Thread(target=lambda: output.append(process.communicate()[0]), daemon=True)
    reader.start()
    chance = random.Random(11)
    for kill in range(3):
        wait_for(process, lambda kill=kill: len(sidecars(store)) > 8 * (kill + 1))
        workers = running_workers(process.pid)
        assert workers, "a run under -n 4 has worker processes"
        os.kill(chance.choice(workers), signal.SIGKILL)
    reader.join(timeout=600)
    watch.end()
    assert process.returncode in (0, 1), "".join(output)
    assert verdict_file(study) == undisturbed
    assert all(len(versions) == 1 for versions in watch.versions.values()), "a complete shard was computed twice"


def test_a_killed_controller_is_resumed(study: Path, undisturbed: bytes) -> None:
    """What was complete when the whole run died is used by the next one as it stands."""
    store = study / "controller"
    process = start_study(study, "-n", "2", f"--evidence-dir={store}")
    threading.Thread(target=process.communicate, daemon=True).start()
    wait_for(process, lambda: len(sidecars(store)) > 10)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    complete = {path: path.stat().st_mtime_ns for path in sidecars(store)}
    run_study(study, "-n", "2", f"--evidence-dir={store}")
    assert verdict_file(study) == undisturbed
    assert {path: path.stat().st_mtime_ns for path in complete} == complete


def test_a_shortened_run_is_exploratory_and_plans_less(study: Path, undisturbed: bytes) -> None:
    """`--texts` deviates from the frozen protocol: its verdicts must not look like results."""
    store = study / "short"
    result = run_study(study, "-k", "signed_census", "--texts=8", f"--evidence-dir={store}")
    assert "EXPLORATORY" in result.stdout
    stages = {json.loads(sidecar.read_text())["stage"] for sidecar in sidecars(store)}
    assert stages == {"capture", "battery", "nulls"}, "only the census was asked for"


def test_a_corpus_that_is_too_small_is_inestimable(tmp_path: Path) -> None:
    """Too few texts are a property of the data, not an error: the numbers are named."""
    root = make_study(tmp_path / "few", speeches=20)
    run_study(root, "-k", "sink_floor")
    (line,) = verdicts(root)
    assert line["verdict"] == "inestimable"
    assert line["metrics"]["texts"] == 20


def running_workers(controller: int) -> list[int]:
    """Process ids. execnet starts a worker as an interpreter that reads its program from standard input."""
    found = []
    for child in psutil.Process(controller).children():
        with suppress(psutil.NoSuchProcess):  # also a zombie, killed before
            if "sys.stdin.readline" in " ".join(child.cmdline()):
                found.append(child.pid)
    return found


def wait_for(process: object, condition: object, seconds: float = 300) -> None:
    """Returns when the condition holds; fails where the run ends or the time is over first."""
    until = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert process.poll() is None, "the run ended before it could be disturbed"  # type: ignore[attr-defined]
        assert time.monotonic() < until, "the run made no progress"
        time.sleep(0.02)
