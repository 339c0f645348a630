"""The device of a run is one word, decided once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from resolvent.errors import ResolventError
from resolvent.models import devices


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[bool, str], None]:
    """Pretends a driver, or none, and a build of torch."""

    def pretend(driver: bool, build: str) -> None:
        file = tmp_path / "nvidiactl"
        if driver:
            file.touch()
        monkeypatch.setattr(devices, "_DRIVER", file)
        monkeypatch.setattr(devices.importlib.metadata, "version", lambda name: build)

    return pretend


@pytest.mark.parametrize("asked", ["cpu", "cuda", "cuda:1"])
def test_a_named_device_is_taken_as_it_is(asked: str, machine: Callable[[bool, str], None]) -> None:
    machine(True, "2.13.0")
    assert devices.chosen_device(asked) == asked


@pytest.mark.parametrize(
    ("driver", "build", "why"), [(False, "2.13.0", "no NVIDIA driver"), (True, "2.13.0+cpu", "a CPU build")]
)
@pytest.mark.parametrize("asked", ["cuda", "cuda:1"])
def test_a_device_that_is_not_there_is_refused_once(
    asked: str, driver: bool, build: str, why: str, machine: Callable[[bool, str], None]
) -> None:
    """Before anything is collected, not by every shard with a traceback of its own."""
    machine(driver, build)
    with pytest.raises(ResolventError, match=f"'{asked}' is not there: .*{why}"):
        devices.chosen_device(asked)
    assert devices.chosen_device("cpu") == "cpu"


@pytest.mark.parametrize("asked", ["gpu", "cuda:", "mps", ""])
def test_an_unknown_device_is_refused(asked: str) -> None:
    """A typing error must not silently run elsewhere."""
    with pytest.raises(ResolventError, match="allowed: auto, cpu, cuda"):
        devices.chosen_device(asked)


@pytest.mark.parametrize(
    ("driver", "build", "expected"), [(True, "2.13.0", "cuda"), (True, "2.13.0+cpu", "cpu"), (False, "2.13.0", "cpu")]
)
def test_cuda_is_used_where_driver_and_build_allow(
    driver: bool, build: str, expected: str, machine: Callable[[bool, str], None]
) -> None:
    """A CPU build beside a card, or a CUDA build without one, runs on the CPU."""
    machine(driver, build)
    assert devices.chosen_device("auto") == expected
