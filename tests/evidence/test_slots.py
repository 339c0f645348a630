"""As many models at once as cores and memory allow, and always at least one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from evidence_builders import build_study, build_subjects

from resolvent.errors import ResolventError
from resolvent.evidence import slots
from resolvent.evidence.slots import MEBIBYTE, OVERHEAD_BYTES, UNKNOWN_WEIGHTS_BYTES, footprint_bytes, try_slot

GIBIBYTE = 1024 * MEBIBYTE


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cores, 10 GiB available."""
    monkeypatch.setattr(slots, "_cores", lambda: 4)
    monkeypatch.setattr(slots, "_available_memory", lambda: 10 * GIBIBYTE)


@pytest.mark.usefixtures("machine")
def test_no_more_holders_than_cores(tmp_path: Path) -> None:
    """More models than cores only take memory."""
    with (
        try_slot(1, folder=tmp_path) as first,
        try_slot(1, folder=tmp_path) as second,
        try_slot(1, folder=tmp_path) as third,
        try_slot(1, folder=tmp_path) as fourth,
        try_slot(1, folder=tmp_path) as fifth,
    ):
        assert [first, second, third, fourth, fifth] == [True, True, True, True, False]
    with try_slot(1, folder=tmp_path) as again:
        assert again


@pytest.mark.usefixtures("machine")
def test_what_holders_declared_stays_within_the_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holders that were just admitted have not taken their memory yet; it is theirs all the same."""
    monkeypatch.setattr(slots, "_holder", lambda _: (3 * GIBIBYTE, 0))
    with try_slot(3 * GIBIBYTE, folder=tmp_path) as first, try_slot(3 * GIBIBYTE, folder=tmp_path) as second:
        assert first
        assert second
        with try_slot(3 * GIBIBYTE, folder=tmp_path) as third:
            assert not third
        with try_slot(GIBIBYTE, folder=tmp_path) as small:
            assert small


@pytest.mark.usefixtures("machine")
def test_the_first_is_always_admitted(tmp_path: Path) -> None:
    """A model too large for the estimate is tried, not refused for ever."""
    with try_slot(1000 * GIBIBYTE, folder=tmp_path) as first, try_slot(1, folder=tmp_path) as second:
        assert first
        assert not second


def test_a_killed_holder_frees_its_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots are kernel locks: a crash must not shrink the machine."""
    monkeypatch.setattr(slots, "_cores", lambda: 1)
    code = (
        "import sys, time; from pathlib import Path; from resolvent.evidence import slots\n"
        "slots._cores = lambda: 1\n"
        f"with slots.try_slot(1, folder=Path({str(tmp_path)!r})): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with try_slot(1, folder=tmp_path) as while_held:
        assert not while_held
    declared, resident = slots._holder(tmp_path / "0.lock")
    assert (declared, resident) == (1, 1)
    holder.kill()
    holder.communicate()
    with try_slot(1, folder=tmp_path) as afterwards:
        assert afterwards


def test_footprint_comes_from_the_weights(tmp_path: Path) -> None:
    """A model takes what its weights take, widened to float32, and the libraries around it."""
    study, toy = build_study(tmp_path), build_subjects().subjects["toy"]
    assert footprint_bytes(study, toy, {}) == 2 * UNKNOWN_WEIGHTS_BYTES + OVERHEAD_BYTES
    toy.folder(study).mkdir(parents=True)
    (toy.folder(study) / "model.safetensors").write_bytes(bytes(1000))
    (toy.folder(study) / "tokenizer.json").write_bytes(bytes(5000))
    assert footprint_bytes(study, toy, {}) == 2000 + OVERHEAD_BYTES
    assert footprint_bytes(study, toy, {"footprint_bytes": 5}) == 5


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The user must learn which variable to set."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ResolventError, match="set TMPDIR"), try_slot(1, folder=tmp_path / "file" / "slots"):
        pass


def test_available_memory_is_positive() -> None:
    """Read off the machine, or the control group that this process runs in."""
    assert slots._available_memory() > 0
