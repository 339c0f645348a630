"""The corpus: long-form text only, no paragraph twice, the same bits again, and nothing of the evaluation texts."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from zoo_builders import corpus, documents

from resolvent.models.fetch import corpus_bytes
from resolvent.models.subjects import load_subjects
from resolvent.models.zoo.corpus import (
    HELD_OUT_EVERY,
    TrainingCorpusError,
    build_corpus,
    read_corpus,
    train_tokenizer,
    without_repeats,
)
from resolvent.models.zoo.families import BOS_ID, BOS_TOKEN, CONTEXT
from resolvent.models.zoo.sources import (
    SOURCES,
    Document,
    SourceError,
    installed_documents,
    is_long_form,
)
from resolvent.study import open_study
from resolvent.texts.corpora import ordered_texts

REPOSITORY = Path(__file__).resolve().parents[3]
STUDY = open_study(REPOSITORY)
SUBJECTS = load_subjects(STUDY)
PROSE = (
    "Returns the largest eigenvalue of a symmetric matrix and the vector that belongs to it. The matrix is given by "
    "its lower triangle; what stands above the diagonal is never read, so that it may hold anything at all."
)
WORDS_IN_A_ROW = 8
"""As many words in the same order are taken for a copy."""


def test_prose_is_long_form_and_tables_are_not() -> None:
    """Short strings, numbers, paths and codes would teach no English."""
    assert is_long_form(PROSE)
    assert not is_long_form(PROSE[:150])
    assert not is_long_form(" ".join(str(i) for i in range(200)))
    assert not is_long_form(" ".join("usr/local/lib/python/site-packages" for _ in range(50)))


def test_a_paragraph_is_kept_once_whatever_its_spaces() -> None:
    """Inherited docstrings repeat by the thousand; repeats of the corpus are planned ones only."""
    again = PROSE.replace(" ", "\n  ", 3)
    kept = without_repeats(
        [
            Document("a", f"{PROSE}\n\n{PROSE.upper()}"),
            Document("b", f"{again}\n\n{PROSE.lower()}"),
            Document("c", PROSE),
        ]
    )
    assert [(document.origin, document.text) for document in kept] == [
        ("a", f"{PROSE}\n\n{PROSE.upper()}"),
        ("b", PROSE.lower()),
    ]


def test_the_same_documents_give_the_same_bits(tmp_path: Path) -> None:
    """The data hash is what another machine compares."""
    first, again, other = (corpus(tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert first.facts == again.facts
    assert first.facts.tokens_sha256 != other.facts.tokens_sha256
    np.testing.assert_array_equal(first.training, again.training)


def test_rows_are_the_corpus_in_order_and_some_are_held_out(tmp_path: Path) -> None:
    """Training and validation rows are disjoint and together everything but an incomplete last row."""
    found = corpus(tmp_path)
    total = len(found.training) + len(found.validation)
    assert found.training.shape[1] == CONTEXT - 1
    assert len(found.validation) == total // HELD_OUT_EVERY > 0
    assert total == found.facts.tokens // (CONTEXT - 1)
    tokens = np.load(tmp_path / "tokens.npy")
    np.testing.assert_array_equal(found.training[0], tokens[: CONTEXT - 1])
    assert (tokens != BOS_ID).all()


def test_the_tokenizer_gives_back_every_text_and_never_adds_bos(tmp_path: Path) -> None:
    """Byte level: nothing is unknown, whatever the script."""
    tokenizer = train_tokenizer([document.text for document in documents()])
    for text in (PROSE, "naïve Σ, 数学, \t two\n\nparagraphs", documents()[3].text):
        ids = tokenizer.encode(text).ids
        assert BOS_ID not in ids
        assert tokenizer.decode(ids) == text
    assert tokenizer.token_to_id(BOS_TOKEN) == BOS_ID


def test_a_damaged_or_foreign_corpus_is_refused(tmp_path: Path) -> None:
    """Weights trained on it would not be those of the card."""
    corpus(tmp_path)
    with pytest.raises(TrainingCorpusError, match="other packages or versions"):
        read_corpus(tmp_path, {"made-up": "2"})
    tokens = np.load(tmp_path / "tokens.npy")
    np.save(tmp_path / "tokens.npy", tokens[::-1])
    with pytest.raises(TrainingCorpusError, match=r"tokens\.npy is damaged"):
        corpus(tmp_path)


def test_the_bos_text_in_a_document_is_refused(tmp_path: Path) -> None:
    """A BOS in the middle of a row is what the preflight refuses in a text."""
    text = f"{PROSE} {BOS_TOKEN}"
    with pytest.raises(TrainingCorpusError, match="contains the text"):
        build_corpus(tmp_path, [Document("a", text)], sources={}, report=lambda line: None)


def test_sources_are_pinned_as_the_environment_is() -> None:
    """Another machine that follows constraints.txt reads the same text."""
    pinned = dict(
        line.split("==") for line in (REPOSITORY / "constraints.txt").read_text().splitlines() if "==" in line
    )
    assert {name: pinned[name] for name in SOURCES} == dict(SOURCES)


def test_a_missing_or_other_version_is_named() -> None:
    """All of them at once, so that one installation mends it."""
    version = importlib.metadata.version("numpy")
    with pytest.raises(SourceError, match=rf"numpy is {re.escape(version)}.*0\.0\.1; not-there 1 is not installed"):
        list(installed_documents({"numpy": "0.0.1", "not-there": "1"}))


def test_documents_of_a_package_are_read_in_order(tmp_path: Path) -> None:
    """Docstrings, templates and the description; the order is that of path and line."""
    found = list(installed_documents({"click": SOURCES["click"]}))
    assert found[0].origin == "click:description"
    assert len(found) > 50
    places = [re.fullmatch(r"click/(.+):(\d+)", document.origin) for document in found[1:]]
    order = [(match.group(1), int(match.group(2))) for match in places if match]
    assert len(order) == len(found) - 1
    assert order == sorted(order)
    assert all(is_long_form(document.text) for document in found)


def corpus_texts() -> Iterator[str]:
    """Of the corpus that `resolvent train` has built here, else of the installed packages (a minute)."""
    built = REPOSITORY / ".training" / "corpus"
    facts = built / "corpus.json"
    if facts.is_file() and json.loads(facts.read_text())["sources"] == dict(SOURCES):
        yield from (built / "corpus.txt").read_bytes().decode("utf-8", "surrogatepass").split("\0")
    else:
        yield from (document.text for document in installed_documents())


def shingles(text: str) -> Iterator[str]:
    words = re.findall(r"[a-z']+", text.lower())
    yield from (" ".join(words[i : i + WORDS_IN_A_ROW]) for i in range(len(words) - WORDS_IN_A_ROW + 1))


EVALUATION = ("hansard", "lee")
FETCHED = [name for name in EVALUATION if SUBJECTS.texts[name].available(STUDY) is None]


def test_no_source_ships_an_evaluation_text() -> None:
    """The wheels of the evaluation texts are not among the packages that are read."""
    for name in EVALUATION:
        wheel = SUBJECTS.texts[name].wheel
        assert wheel is not None
        assert wheel.name.lower() not in {source.lower() for source in SOURCES}


@pytest.mark.skipif(not FETCHED, reason="no evaluation text is fetched (resolvent fetch)")
def test_the_evaluation_texts_are_not_in_the_corpus() -> None:
    """Claims are measured on them: not one run of words of theirs may have been trained on."""
    evaluation = {
        shingle
        for name in FETCHED
        for _, text in ordered_texts(SUBJECTS.texts[name], corpus_bytes(STUDY, SUBJECTS.texts[name]))
        for shingle in shingles(text)
    }
    assert len(evaluation) > 10_000
    found = {shingle for text in corpus_texts() for shingle in shingles(text) if shingle in evaluation}
    assert not found
