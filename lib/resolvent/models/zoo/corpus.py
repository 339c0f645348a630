"""The training corpus: long-form text without repeats, a tokenizer trained on it, token ids in rows."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.errors import ResolventError
from resolvent.models.zoo.families import BOS_ID, BOS_TOKEN, CONTEXT, VOCABULARY
from resolvent.models.zoo.sources import SOURCES, Document, installed_documents, is_long_form

if TYPE_CHECKING:
    from jaxtyping import UInt16

HELD_OUT_EVERY = 64
"""Every so many rows one is held out for the validation loss."""

_TOKENS, _TOKENIZER, _FACTS, _TEXT = "tokens.npy", "tokenizer.json", "corpus.json", "corpus.txt"


class TrainingCorpusError(ResolventError):
    """A corpus folder that cannot be used."""


@dataclass(frozen=True)
class CorpusFacts:
    """What a card says about the corpus.

    sources            distribution -> version
    documents          texts that were left after the repeats were taken out
    characters         of them together
    tokens             token ids of them together
    text_sha256        of the texts, UTF-8, separated by NUL
    tokenizer_sha256   of tokenizer.json
    tokens_sha256      of the token ids, little-endian 16 bit: the data hash
    """

    sources: dict[str, str]
    documents: int
    characters: int
    tokens: int
    text_sha256: str
    tokenizer_sha256: str
    tokens_sha256: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class TrainingCorpus:
    """A corpus on disk.

    training, validation  token ids without BOS, CONTEXT - 1 a row
    tokenizer             path of tokenizer.json
    """

    facts: CorpusFacts
    training: UInt16[np.ndarray, "rows tokens"]
    validation: UInt16[np.ndarray, "held_out tokens"]
    tokenizer: Path


def without_repeats(documents: Iterable[Document]) -> list[Document]:
    """The documents in order, each without the paragraphs that occurred before; what is then no long form is left out.

    Two paragraphs are the same where they agree after NFC and with white space joined. Paragraphs are separated by
    empty lines.
    """
    seen: set[bytes] = set()
    kept = []
    for document in documents:
        paragraphs = []
        for paragraph in _paragraphs(document.text):
            digest = hashlib.sha256(" ".join(paragraph.split()).encode("utf-8", "surrogatepass")).digest()[:16]
            if digest not in seen:
                seen.add(digest)
                paragraphs.append(paragraph)
        text = "\n\n".join(paragraphs)
        if is_long_form(text):
            kept.append(Document(document.origin, text))
    return kept


def train_tokenizer(texts: Iterable[str], vocabulary: int = VOCABULARY) -> Any:
    """A byte-level BPE tokenizer (tokenizers.Tokenizer) whose id 0 is BOS, which it never adds by itself."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[BOS_TOKEN],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.token_to_id(BOS_TOKEN) != BOS_ID:
        raise TrainingCorpusError(f"the tokenizer gave {BOS_TOKEN} the id {tokenizer.token_to_id(BOS_TOKEN)}, not 0")
    return tokenizer


def build_corpus(
    folder: Path,
    documents: Iterable[Document] | None = None,
    *,
    sources: dict[str, str] | None = None,
    report: Callable[[str], object] = print,
) -> TrainingCorpus:
    """The corpus in `folder`: read where it is there, else built from `documents` (default: the installed packages).

    Raises TrainingCorpusError where the folder holds a corpus of other sources or a damaged one, SourceError where the
    packages are not those of constraints.txt.
    """
    sources = dict(SOURCES) if sources is None else sources
    if (folder / _FACTS).is_file():
        return read_corpus(folder, sources)
    report("corpus: reading the text of the installed packages")
    kept = without_repeats(installed_documents(sources) if documents is None else documents)
    texts = [document.text for document in kept]
    report(f"corpus: {len(texts)} documents, {sum(map(len, texts)) / 1e6:.1f} million characters; training a tokenizer")
    tokenizer = train_tokenizer(texts)
    separator = tokenizer.encode("\n\n").ids
    ids: list[np.ndarray] = []
    for text in texts:
        ids.append(np.asarray([*tokenizer.encode(text).ids, *separator], dtype="<u2"))
    tokens = np.concatenate(ids) if ids else np.empty(0, dtype="<u2")
    if (tokens == BOS_ID).any():
        raise TrainingCorpusError(f"the corpus contains the text {BOS_TOKEN}")
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / _TOKENIZER))
    np.save(folder / _TOKENS, tokens)
    (folder / _TEXT).write_bytes("\0".join(texts).encode("utf-8", "surrogatepass"))
    facts = CorpusFacts(
        sources=sources,
        documents=len(texts),
        characters=sum(map(len, texts)),
        tokens=len(tokens),
        text_sha256=_sha256((folder / _TEXT).read_bytes()),
        tokenizer_sha256=_sha256((folder / _TOKENIZER).read_bytes()),
        tokens_sha256=_sha256(tokens.tobytes()),
    )
    # Written last: a folder without it is built again.
    (folder / _FACTS).write_text(json.dumps(facts.to_json(), indent=1) + "\n", encoding="utf-8")
    report(f"corpus: {len(tokens) / 1e6:.2f} million tokens, data hash {facts.tokens_sha256[:12]}")
    return read_corpus(folder, sources)


def read_corpus(folder: Path, sources: dict[str, str]) -> TrainingCorpus:
    """A corpus that was built. Raises TrainingCorpusError where it is of other sources or damaged."""
    try:
        facts = CorpusFacts(**json.loads((folder / _FACTS).read_text(encoding="utf-8")))
        tokens = np.load(folder / _TOKENS)
    except (OSError, ValueError, TypeError) as error:
        raise TrainingCorpusError(f"{folder}: no readable corpus: {error}; delete the folder to build it") from None
    if facts.sources != sources:
        raise TrainingCorpusError(f"{folder}: a corpus of other packages or versions; delete the folder to build it")
    if _sha256(tokens.tobytes()) != facts.tokens_sha256:
        raise TrainingCorpusError(f"{folder}: {_TOKENS} is damaged; delete the folder to build the corpus again")
    width = CONTEXT - 1
    rows = tokens[: len(tokens) // width * width].reshape(-1, width)
    held_out = np.arange(len(rows)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    return TrainingCorpus(
        facts=facts, training=rows[~held_out], validation=rows[held_out], tokenizer=folder / _TOKENIZER
    )


def _paragraphs(text: str) -> list[str]:
    lines = unicodedata.normalize("NFC", text).split("\n")
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line.rstrip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return ["\n".join(paragraph) for paragraph in paragraphs if paragraph]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
