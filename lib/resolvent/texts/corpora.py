"""A corpus as prereg/subjects.yaml determines it: the same texts, in the same order, to the bit."""

from __future__ import annotations

import csv
import hashlib
import io
import unicodedata
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from resolvent.errors import ResolventError
from resolvent.texts.entries import EntryError, HubDataset, Wheel, exactly_one, typed

if TYPE_CHECKING:
    from resolvent.study import Study

Clean = Literal["nfc", "join_whitespace"]


class CorpusError(ResolventError):
    """The bytes of a corpus are not what its entry says."""


class TextFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the file of a wheel is read.

    csv    encoding of a CSV file (csv module, default dialect), the only file of a zip; `id` and `text` name columns
    lines  encoding of a plain file with one text a line; the id is the line number from 0
    """

    csv: str | None = None
    lines: str | None = None
    id: str | None = None
    text: str | None = None


class CorpusEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An entry under `texts`: exactly one of wheel, hub, generated."""

    wheel: Wheel | None = None
    hub: HubDataset | None = None
    generated: Literal["repeat", "random"] | None = None
    format: TextFormat | None = None
    clean: tuple[Clean, ...] = ()
    minimum_characters: Annotated[int, msgspec.Meta(ge=0)] = 0
    drop_repeats: Annotated[int, msgspec.Meta(ge=1)] | None = None
    order: Literal["hash", "given"] | None = None


@dataclass(frozen=True)
class Corpus:
    """One entry under `texts`.

    name                as claims and subjects name it; part of the order's hash
    entry               the entry as written: part of evidence keys and frozen in the ledger
    source              where the texts come from; `generated` ones are probes and have no file
    clean               what is done to each text, in order
    minimum_characters  of the cleaned text; shorter ones are left out
    drop_repeats        of texts that agree in so many first cleaned characters the smallest id stays; None: all stay
    order               `hash`: ascending hex SHA-256 of "<name>|<id>"; `given`: as in the file
    """

    name: str
    entry: Mapping[str, Any]
    source: Literal["wheel", "hub", "generated"]
    wheel: Wheel | None = None
    hub: HubDataset | None = None
    generated: Literal["repeat", "random"] | None = None
    format: TextFormat | None = None
    clean: tuple[Clean, ...] = ()
    minimum_characters: int = 0
    drop_repeats: int | None = None
    order: Literal["hash", "given"] = "given"

    def identity(self) -> dict[str, Any]:
        """What determines the texts, JSON-able."""
        return {"name": self.name, **self.entry}

    @property
    def file_name(self) -> str:
        """Name of the fetched file."""
        return Path(self.wheel.member).name if self.wheel else "texts.parquet"

    def folder(self, study: Study) -> Path:
        """Where `resolvent fetch` puts the corpus."""
        return study.fetched / "texts" / self.name

    def available(self, study: Study) -> str | None:
        """None where the corpus can be read, else why not and what to do."""
        if self.source == "generated" or (self.folder(study) / self.file_name).is_file():
            return None
        return f"texts '{self.name}' are not fetched; run: resolvent fetch {self.name}"


def parse_corpus(name: str, value: Any, *, source: Path | str) -> Corpus:
    """The corpus of an entry under `texts`. Raises EntryError that names `source`, path and what is allowed."""
    where = f"texts.{name}"
    entry = typed(value, CorpusEntry, source=source, where=where)
    kind = exactly_one(entry, ("wheel", "hub", "generated"), source=source, where=where)
    needed = {"wheel": ("format", "order"), "hub": ("order",), "generated": ()}[kind]
    for field in needed:
        if getattr(entry, field) is None:
            raise EntryError(f"{source}: {where}: a corpus from a {kind} needs '{field}'")
    if entry.format is not None:
        reader = exactly_one(entry.format, ("csv", "lines"), source=source, where=f"{where}.format")
        columns = entry.format.id is not None and entry.format.text is not None
        if (reader == "csv") != columns:
            raise EntryError(f"{source}: {where}.format: columns 'id' and 'text' belong to csv, and csv needs both")
    return Corpus(
        name=name,
        entry=dict(value),
        source=kind,  # type: ignore[arg-type]
        wheel=entry.wheel,
        hub=entry.hub,
        generated=entry.generated,
        format=entry.format,
        clean=entry.clean,
        minimum_characters=entry.minimum_characters,
        drop_repeats=entry.drop_repeats,
        order=entry.order or "given",
    )


def ordered_texts(corpus: Corpus, data: bytes) -> list[tuple[str, str]]:
    """(id, cleaned text) of every text of the corpus that stays, in order.

    data  the bytes of the fetched file (`resolvent.models.fetch.corpus_bytes`)
    Cleaned first, then too short ones are left out, then repeats, then ordered. Of repeats the smallest id stays:
    ids of digits compare as integers, others as strings. Raises CorpusError where the bytes are not of the format.
    """
    cleaned = [(id_, clean_text(text, corpus.clean)) for id_, text in _raw_texts(corpus, data)]
    ids = [id_ for id_, _ in cleaned]
    if len(set(ids)) != len(ids):
        raise CorpusError(f"texts '{corpus.name}': an id occurs twice among {len(ids)} texts")
    kept = [(id_, text) for id_, text in cleaned if len(text) >= corpus.minimum_characters]
    if corpus.drop_repeats is not None:
        smallest: dict[str, str] = {}
        for id_, text in kept:
            beginning = text[: corpus.drop_repeats]
            if beginning not in smallest or _id_order(id_) < _id_order(smallest[beginning]):
                smallest[beginning] = id_
        stays = set(smallest.values())
        kept = [(id_, text) for id_, text in kept if id_ in stays]
    if corpus.order == "hash":
        kept.sort(key=lambda pair: hashlib.sha256(f"{corpus.name}|{pair[0]}".encode()).hexdigest())
    return kept


def clean_text(text: str, steps: tuple[Clean, ...]) -> str:
    """`text` after the steps, in order: `nfc` normalises, `join_whitespace` joins `text.split()` by single spaces."""
    for step in steps:
        text = unicodedata.normalize("NFC", text) if step == "nfc" else " ".join(text.split())
    return text


def _id_order(id_: str) -> tuple[int, int, str]:
    return (0, int(id_), id_) if id_.isascii() and id_.isdigit() else (1, 0, id_)


def _raw_texts(corpus: Corpus, data: bytes) -> list[tuple[str, str]]:
    if corpus.source == "generated":
        raise CorpusError(f"texts '{corpus.name}' are generated; they have no file")
    try:
        if corpus.hub is not None:
            return _parquet_column(corpus.hub.text, data)
        assert corpus.format is not None
        if corpus.format.lines is not None:
            lines = data.decode(corpus.format.lines).removesuffix("\n").split("\n")
            return [(str(number), line) for number, line in enumerate(lines)]
        return _csv_columns(corpus.format, data)
    except (ValueError, LookupError, csv.Error, zipfile.BadZipFile) as error:
        raise CorpusError(f"texts '{corpus.name}': not readable as its format says: {error}") from None


def _csv_columns(how: TextFormat, data: bytes) -> list[tuple[str, str]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = [info for info in archive.infolist() if not info.is_dir()]
        if len(files) != 1:
            raise ValueError(f"the zip has {len(files)} files, exactly one is allowed")
        content = archive.read(files[0])
    assert how.csv is not None
    assert how.id is not None
    assert how.text is not None
    rows = csv.DictReader(io.StringIO(content.decode(how.csv), newline=""))
    columns = rows.fieldnames or []
    for column in (how.id, how.text):
        if column not in columns:
            raise ValueError(f"no column '{column}'; the columns are {', '.join(columns)}")
    texts = []
    for row in rows:
        if row[how.id] is None or row[how.text] is None:
            raise ValueError(f"the row that ends at line {rows.line_num} is too short")
        texts.append((row[how.id], row[how.text]))
    return texts


def _parquet_column(column: str, data: bytes) -> list[tuple[str, str]]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(io.BytesIO(data), columns=[column])
    except pyarrow.ArrowInvalid as error:
        raise ValueError(error) from None
    if column not in table.column_names:
        raise ValueError(f"no column '{column}'")
    return [(str(number), text) for number, text in enumerate(table.column(column).to_pylist())]
