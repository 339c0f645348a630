"""Attention maps and next-token losses of one block of texts: the one stage that runs the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.common import CAPTURED_LENGTH, FINAL, TEXTS_PER_BLOCK, step_of, text_label
from resolvent.models.subjects import load_subjects

if TYPE_CHECKING:
    from resolvent.models.load import LoadedModel
    from resolvent.texts.corpora import Corpus

MODEL_SOURCES = (
    "resolvent.models.families",
    "resolvent.models.subjects",
    "resolvent.models.fetch",
    "resolvent.models.convert",
    "resolvent.models.load",
    "resolvent.models.zoo.packaged",
)
"""What decides which weights are in memory. How the zoo was trained does not: an entry pins its weights."""

CAPTURE = Stage(
    name="capture",
    version=1,
    function="resolvent.evidence.stages.capture:capture_block",
    output="arrays",
    sources=(
        "resolvent.evidence.stages.capture",
        "resolvent.keyed_random",
        "resolvent.texts",
        "resolvent.models.preflight",
        "resolvent.models.capture",
        *MODEL_SOURCES,
    ),
    packages=("numpy", "torch", "transformers", "tokenizers"),
    loads_model=True,
)


def capture_shard(subject: str, *, state: str, captured: int, repeat: int | None, checkpoint: str = FINAL) -> Shard:
    """The capture of texts captured..captured+7 of a state; `repeat` is the T of the probes."""
    length = CAPTURED_LENGTH if repeat is None else 2 * repeat + 1
    stop = captured + TEXTS_PER_BLOCK
    params: dict[str, Any] = {"state": state, "checkpoint": checkpoint, "start": captured, "stop": stop}
    params |= {"length": length} if repeat is None else {"length": length, "repeat": repeat}
    label = f"{text_label(state, length, checkpoint)}/{captured}-{stop - 1}"
    return Shard(CAPTURE, subject, label, params)


def capture_block(call: Call) -> Result:
    """Attention float32 (texts, layers, heads, n(n+1)/2), cross-entropy (texts, n-1) nats, token ids (texts, n).

    Metadata: `start`, `length`, `text_ids` (JSON, in order), `passed_over` (JSON list of [id, reason]). A corpus that
    has fewer texts than asked gives fewer rows.
    """
    from resolvent.models.capture import capture
    from resolvent.models.load import load_model

    loaded = load_model(call.study, call.subject, step=step_of(call.params["checkpoint"]), device=call.device)
    text_ids, token_ids, passed_over = _token_ids(call, loaded)
    captured = capture(loaded, token_ids)
    return Result(
        {
            "attention": captured.attention,
            "cross_entropy": captured.cross_entropy,
            "row_sum_residual": captured.row_sum_residual,
            "token_ids": token_ids,
        },
        {
            "start": str(call.params["start"]),
            "length": str(call.params["length"]),
            "text_ids": json.dumps(text_ids),
            "passed_over": json.dumps(passed_over),
        },
    )


def _token_ids(call: Call, loaded: LoadedModel) -> tuple[list[str], np.ndarray, list[tuple[str, str]]]:
    """Text ids, token ids and what was passed over."""
    from resolvent.texts.probes import ordinary_token_ids, probe_token_ids

    start, stop = call.params["start"], call.params["stop"]
    corpus = load_subjects(call.study).texts[_corpus_name(call)]
    if corpus.generated is None:
        return _corpus_ids(call, loaded, corpus)
    token_ids = probe_token_ids(
        ordinary_token_ids(loaded.tokenizer),
        generated=corpus.generated,
        seed=call.seed,
        subject=call.subject.name,
        indices=range(start, stop),
        repeat=call.params["repeat"],
        bos=loaded.bos,
    )
    return [str(index) for index in range(start, stop)], token_ids, []


def _corpus_name(call: Call) -> str:
    state = str(call.params["state"])
    return call.subject.corpus if state == "corpus" else state


def _corpus_ids(call: Call, loaded: LoadedModel, corpus: Corpus) -> tuple[list[str], np.ndarray, list[tuple[str, str]]]:
    from resolvent.models.fetch import corpus_bytes
    from resolvent.texts.corpora import ordered_texts
    from resolvent.texts.selection import select_texts

    start = call.params["start"]
    selection = select_texts(
        ordered_texts(corpus, corpus_bytes(call.study, corpus)),
        loaded.encode,
        bos=loaded.bos,
        special_ids=loaded.special_ids,
        length=call.params["length"],
        count=call.params["stop"],
    )
    return list(selection.ids[start:]), selection.token_ids[start:], list(selection.passed_over)
