"""A study in miniature: numpy-only stages, verdicts that are a number in the protocol, pytest in a subprocess."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolvent.registry import register
from resolvent.study import open_study

HASH = "a" * 64

SUBJECTS = f"""
seed: 7
texts:
  words:
    wheel: {{name: words, version: 1.0.0, member: words.txt, member_sha256: {HASH}}}
    format: {{lines: utf-8}}
    order: hash
cohorts:
  embedded: [ada, bell]
  absent: [ghost]
subjects:
""" + "".join(
    f"""
  {name}:
    wheel: {{name: {name}, version: 1.0.0, member: {name}.gguf, member_sha256: {HASH}}}
    weights: {{quantised: q4_1}}
    bos: 0
    corpus: words
    trained: {trained}
    norm: rmsnorm
    positions: rope
    layers: 2
    heads: 2
    checkpoints: 0
"""
    for name, trained in (("ada", "true"), ("bell", "false"), ("ghost", "true"))
)

CONFTEST = """
import numpy as np
import pytest

pytest_plugins = ["resolvent.pytest_plugin"]


def pytest_resolvent_views():
    return {"numbers": "fake_evidence:Numbers"}


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    numpy_values = [name for name, value in vars(report).items() if isinstance(value, np.generic | np.ndarray)]
    assert not numpy_values, f"numpy on a report: {numpy_values}"
"""

# A stage that notes in a file what it computes, and misbehaves where a file tells it to.
FAKE_EVIDENCE = """
import os
import signal
import time

import numpy as np

from resolvent.evidence.shards import Result, Shard, Stage
from resolvent.evidence.views import TooFewTexts

BASE = Stage(name="base", version=1, function="fake_evidence:base", output="arrays", sources=())
DOUBLE = Stage(name="double", version=1, function="fake_evidence:double", output="arrays", sources=())


def note(call, name, event):
    with open(call.study.root / "computed.log", "a") as log:
        log.write(f"{event} {name}[{call.subject.name}/{call.params['text']}]\\n")


def misbehave(call, name):
    order = call.study.root / "orders" / f"{name}-{call.subject.name}-{call.params['text']}"
    for kind in ("kill", "die-once", "fail", "slow"):
        file = order.with_suffix(f".{kind}")
        if not file.exists():
            continue
        if kind == "die-once":
            file.unlink()
        if kind in ("kill", "die-once"):
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "slow":
            time.sleep(float(file.read_text()))
        if kind == "fail":
            raise ValueError("the fake stage was told to fail")


def base(call):
    note(call, "base", "begin")
    misbehave(call, "base")
    note(call, "base", "end")
    offset = call.study.root / "offset"
    return Result({"x": np.arange(4.0) + call.params["text"], "offset": np.full(4, float(offset.read_text() or 0))})


def double(call):
    note(call, "double", "begin")
    misbehave(call, "double")
    note(call, "double", "end")
    given = call.inputs[0].arrays
    return Result({"x": 2 * given["x"], "offset": given["offset"]})


class Numbers:
    protocol_keys = frozenset({"texts", "value", "count", "available_texts"})

    @classmethod
    def shards(cls, subject, subjects, protocol):
        made = []
        for text in range(protocol["texts"]):
            first = Shard(BASE, subject.name, f"corpus/{text}", {"text": text}, (), 1)
            made.append(Shard(DOUBLE, subject.name, f"corpus/{text}", {"text": text}, (first,), 1))
        return made

    def __init__(self, subject, subjects, protocol, load):
        loaded = [load(shard).arrays for shard in self.shards(subject, subjects, protocol)]
        if len(loaded) > protocol.get("available_texts", len(loaded)):
            raise TooFewTexts(protocol["available_texts"], len(loaded), "the fake corpus is short")
        self.x = np.concatenate([arrays["x"] for arrays in loaded])
        self.value = np.float64(protocol["value"]) + loaded[0]["offset"].mean()
        self.count = np.int64(protocol.get("count", 5))
"""

CLAIM = """
claim: {name}
title: The size is large ({name})
source: {{paper: ours}}
registered: 2026-12-01
kind: {kind}
seen: {seen}
prior_knowledge: None.
hypothesis: The size is large.
{applies_to}
protocol: {protocol}
criteria:
  large:
    metric: size
    says: the size
    support: {{at_least: 0.5}}
    refute: {{below: 0.3}}
requires:
  - {{metric: heads, at_least: 1}}
verdict: all
"""

TEST = """
def test_{name}(claim, numbers):
    {body}
"""

JUDGE = "claim.judge(size=numbers.value, heads=numbers.count, also=numbers.x.max())"


@dataclass(frozen=True)
class Finished:
    """A pytest run: exit status, output, and the run folder's files if there are any."""

    code: int
    output: str
    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "runs" / "latest"

    @property
    def verdict_text(self) -> str:
        return (self.folder / "verdicts.jsonl").read_text()

    @property
    def verdicts(self) -> dict[tuple[str, str], dict[str, Any]]:
        rows = [json.loads(line) for line in self.verdict_text.splitlines()]
        return {(row["claim"], row["subject"]): row for row in rows}

    @property
    def words(self) -> dict[str, str]:
        return {f"{claim}[{subject}]": row["word"] for (claim, subject), row in self.verdicts.items()}

    @property
    def provenance(self) -> dict[str, Any]:
        return json.loads((self.folder / "provenance.json").read_text())

    @property
    def report(self) -> str:
        return (self.folder / "report.md").read_text()


class MiniStudy:
    """A study in a temporary folder. `claim` adds a claim and its test, `register` freezes, `run` runs pytest."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[str, str] = {}
        self.write("prereg/subjects.yaml", SUBJECTS)
        self.write("conftest.py", CONFTEST)
        self.write("fake_evidence.py", FAKE_EVIDENCE)
        self.write("offset", "0")
        addopts = '["--dist=worksteal", "--disable-plugin-autoload", "-p", "xdist", "-ra"]'
        self.write("pyproject.toml", f'[tool.pytest.ini_options]\ntestpaths = ["claims"]\naddopts = {addopts}\n')
        self.write(".fetched/texts/words/words.txt", "")
        for name in ("ada", "bell"):
            self.fetch(name)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def fetch(self, subject: str) -> None:
        """Pretends that a model is there."""
        source = {
            "name": subject,
            "version": "1.0.0",
            "member": f"{subject}.gguf",
            "member_sha256": "a" * 64,
            "sha256": None,
        }
        self.write(f".fetched/models/{subject}/receipt.json", json.dumps({"source": {"wheel": source}, "files": {}}))

    def claim(
        self,
        name: str,
        *,
        value: float = 0.9,
        count: int = 5,
        texts: int = 2,
        body: str = JUDGE,
        file: str = "test_all.py",
        applies_to: str = "",
        seen: str = "[]",
        kind: str = "confirmatory",
        test: bool = True,
        protocol: str = "",
    ) -> None:
        """Supported from a value of 0.5, refuted below 0.3, undecided between; inestimable with a count of 0."""
        text = protocol or f"{{texts: {texts}, value: {value}, count: {count}}}"
        yaml = CLAIM.format(
            name=name, protocol=text, applies_to=applies_to and f"applies_to: {applies_to}", seen=seen, kind=kind
        )
        self.write(f"prereg/{name}.yaml", yaml)
        if test:
            self._files[file] = self._files.get(file, "") + TEST.format(name=name, body=body)
            self.write(f"claims/{file}", self._files[file])

    def order(self, shard: str, kind: str, text: str = "") -> None:
        """Tells a fake stage to misbehave: `base-ada-0`, kind `fail`, `kill`, `die-once` or `slow`."""
        self.write(f"orders/{shard}.{kind}", text)

    def countermand(self, shard: str, kind: str) -> None:
        (self.root / "orders" / f"{shard}.{kind}").unlink()

    def register(self, *claims: str) -> None:
        names = claims or tuple(file.stem for file in (self.root / "prereg").glob("*.yaml") if file.stem != "subjects")
        register(open_study(self.root), sorted(names))

    def start(self, *args: str, **variables: str) -> subprocess.Popen[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "RESOLVENT_"))}
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *args],
            cwd=self.root,
            env={**environment, "OMP_NUM_THREADS": "1", "COLUMNS": "160", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *args: str, **variables: str) -> Finished:
        """pytest with these arguments and environment variables."""
        process = self.start(*args, **variables)
        output, _ = process.communicate(timeout=120)
        return Finished(process.returncode, output, self.root)

    def computed(self, event: str = "end") -> list[str]:
        """The shards that a stage finished (or began), in order, repeats included."""
        log = self.root / "computed.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line.split(" ", 1)[1] for line in lines if line.startswith(event)]

    def wait_for(self, event: str, shard: str, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while shard not in self.computed(event):
            assert time.monotonic() < deadline, f"{event} {shard} never came"
            time.sleep(0.02)
