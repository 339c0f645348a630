"""Stages without a model. Every call leaves lines in `calls.log` of the study, so that tests can count calls."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.shards import Call, Result, Stage
from resolvent.keyed_random import generator


def log(call: Call, what: str) -> None:
    """Appends `what name pid time`: one write, so lines of several processes don't mix."""
    line = f"{what} {call.params['name']} {os.getpid()} {time.time()}\n"
    with (call.study.root / "calls.log").open("a") as file:
        file.write(line)


def calls(root: Path, what: str = "begin") -> list[tuple[str, int, float]]:
    """Name, process and time of each call that has begun (or ended)."""
    file = root / "calls.log"
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return [(name, int(pid), float(when)) for kind, name, pid, when in lines if kind == what]


def numbers(call: Call) -> Result:
    """`size` draws keyed by the name. Takes `seconds`, and as long as a file `hold` lies in the study."""
    log(call, "begin")
    time.sleep(call.params.get("seconds", 0.0))
    while (call.study.root / "hold").exists():
        time.sleep(0.01)
    draws = generator(call.seed, "numbers", call.params["name"]).standard_normal(call.params.get("size", 8))
    log(call, "end")
    return Result({"values": draws, "index": np.arange(len(draws))}, {"name": call.params["name"]})


def total(call: Call) -> Result:
    """Sums of the inputs' values."""
    log(call, "begin")
    sums = np.array([given.arrays["values"].sum() for given in call.inputs])
    log(call, "end")
    return Result({"values": sums}, {})


def fails(call: Call) -> Result:
    log(call, "begin")
    raise ZeroDivisionError("by design")


def refuses(call: Call) -> Result:
    log(call, "begin")
    raise ResolventError("no weights here")


def threads(call: Call) -> Result:
    """How many threads each numerical library would use within the call."""
    from threadpoolctl import threadpool_info

    return Result(
        {
            "pools": np.array([pool["num_threads"] for pool in threadpool_info()]),
            "environment": np.array([int(os.environ["OMP_NUM_THREADS"])]),
        }
    )


def nothing(call: Call) -> Result:
    return None  # type: ignore[return-value]


NUMBERS = Stage("numbers", 1, "counting_stages:numbers", "arrays", sources=("counting_stages",))
TOTAL = Stage("total", 1, "counting_stages:total", "table", sources=("resolvent.keyed_random",))
FAILS = Stage("fails", 1, "counting_stages:fails", "table", sources=())
REFUSES = Stage("refuses", 1, "counting_stages:refuses", "table", sources=())
THREADS = Stage("threads", 1, "counting_stages:threads", "arrays", sources=())
NOTHING = Stage("nothing", 1, "counting_stages:nothing", "table", sources=())
HEAVY = Stage("heavy", 1, "counting_stages:numbers", "arrays", sources=(), loads_model=True)
