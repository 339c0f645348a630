"""A whole study of one tiny random model on made-up speeches: the registered claims and stages, seconds of work."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]

LAYERS, HEADS = 2, 4
WORDS = [f"{a}{b}" for a in ("ba", "ce", "di", "fo", "gu", "la", "me") for b in ("n", "r", "st", "ck", "ll")]

_SUBJECTS = """\
seed: 7
texts:
  speeches:
    wheel: {{name: speeches, version: 1.0.0, member: speeches/speeches.zip, member_sha256: {sha256}}}
    format: {{csv: utf-8, id: row, text: text}}
    clean: [nfc, join_whitespace]
    minimum_characters: 200
    order: hash
  repeat_probe:
    generated: repeat
  random_probe:
    generated: random
cohorts:
  embedded: [tiny]
subjects:
  tiny:
    hub: {{model: nobody/tiny, revision: {revision}}}
    bos: 0
    corpus: speeches
    trained: true
    norm: rmsnorm
    positions: rope
    layers: {layers}
    heads: {heads}
    checkpoints: 0
"""


def make_study(root: Path, *, speeches: int = 48, layers: int = LAYERS, heads: int = HEADS) -> Path:
    """A study folder with every claim of this repository that has a test, registered anew on the tiny model."""
    from resolvent.registry.ledger import register
    from resolvent.study import open_study

    for name in ("claims", "prereg"):
        shutil.copytree(REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(root / "prereg" / "outcomes", ignore_errors=True)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, root / name)
    tests = "".join(path.read_text(encoding="utf-8") for path in (root / "claims").glob("test_*.py"))
    tested = [path.stem for path in (root / "prereg").glob("*.yaml") if f"def test_{path.stem}(" in tests]
    (root / "prereg" / "LEDGER").unlink()
    for path in (root / "prereg").glob("*.yaml"):
        # The subjects that had been looked at are not among those of this study.
        path.write_text(
            re.sub(r"^seen: .*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE), encoding="utf-8"
        )
    archive = _speeches(speeches)
    (root / "prereg" / "subjects.yaml").write_text(
        _SUBJECTS.format(sha256=hashlib.sha256(archive).hexdigest(), revision="f" * 40, layers=layers, heads=heads)
    )
    study = open_study(root, evidence=root / ".evidence")
    folder = study.root / ".fetched" / "texts" / "speeches"
    folder.mkdir(parents=True)
    (folder / "speeches.zip").write_bytes(archive)
    _model(study.root / ".fetched" / "models" / "tiny", study, layers, heads)
    register(study, sorted(tested))
    return root


def run_study(root: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """`pytest` in the study, as a user runs it."""
    process = start_study(root, *arguments)
    out, _ = process.communicate(timeout=600)
    if check and process.returncode not in (0, 1):
        raise AssertionError(f"pytest ended with {process.returncode}:\n{out}")
    return subprocess.CompletedProcess(process.args, process.returncode, out)


def start_study(root: Path, *arguments: str) -> subprocess.Popen[str]:
    """`pytest` in the study, running, in a process group of its own."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "RESOLVENT"))},
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=root,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def verdicts(root: Path) -> list[dict[str, Any]]:
    """The lines of the latest run's verdicts.jsonl."""
    text = (root / "runs" / "latest" / "verdicts.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _speeches(count: int) -> bytes:
    chance = random.Random(3)
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["row", "text"])
    for row in range(count):
        writer.writerow([row, " ".join(chance.choices(WORDS, k=160))])
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as inside:
        # A fixed date: the archive's hash must not depend on the day.
        inside.writestr(zipfile.ZipInfo("speeches.csv", (2026, 1, 1, 0, 0, 0)), table.getvalue())
    return archive.getvalue()


def _model(folder: Path, study: Any, layers: int, heads: int) -> None:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from resolvent.models.subjects import RECEIPT, load_subjects, source_of

    words = ["<s>", "<unk>", *WORDS, *(f"w{i}" for i in range(300))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>").save_pretrained(folder)
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 2,
        bos_token_id=0,
        eos_token_id=0,
        initializer_range=0.6,  # sharp rows, as trained heads have
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    files = {path.name: path.stat().st_size for path in folder.iterdir()}
    source = source_of(load_subjects(study).subjects["tiny"])
    (folder / RECEIPT).write_text(json.dumps({"source": source, "files": files}))
