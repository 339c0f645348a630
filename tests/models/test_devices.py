"""The device of a run is one word, decided once."""

from pathlib import Path

import pytest

from resolvent.errors import ResolventError
from resolvent.models import devices


@pytest.mark.parametrize("asked", ["cpu", "cuda", "cuda:1"])
def test_a_named_device_is_taken_as_it_is(asked: str) -> None:
    """Whether it works is for the loading of the model to say, with the model's name."""
    assert devices.chosen_device(asked) == asked


@pytest.mark.parametrize("asked", ["gpu", "cuda:", "mps", ""])
def test_an_unknown_device_is_refused(asked: str) -> None:
    """A typing error must not silently run elsewhere."""
    with pytest.raises(ResolventError, match="allowed: auto, cpu, cuda"):
        devices.chosen_device(asked)


@pytest.mark.parametrize(
    ("driver", "build", "expected"), [(True, "2.13.0", "cuda"), (True, "2.13.0+cpu", "cpu"), (False, "2.13.0", "cpu")]
)
def test_cuda_is_used_where_driver_and_build_allow(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, driver: bool, build: str, expected: str
) -> None:
    """A CPU build beside a card, or a CUDA build without one, runs on the CPU."""
    file = tmp_path / "nvidiactl"
    if driver:
        file.touch()
    monkeypatch.setattr(devices, "_DRIVER", file)
    monkeypatch.setattr(devices.importlib.metadata, "version", lambda name: build)
    assert devices.chosen_device("auto") == expected
