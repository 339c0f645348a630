"""Texts of a corpus: two readers of the same entry must get the same bits."""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile

import pytest

from resolvent.errors import ResolventError
from resolvent.texts.corpora import Corpus, CorpusError, ordered_texts, parse_corpus
from resolvent.texts.entries import EntryError

WHEEL = {"name": "words", "version": "1.0.0", "member": "words/en.zip", "member_sha256": "0" * 64}


def corpus(name: str = "speeches", **changes: object) -> Corpus:
    entry = {
        "wheel": WHEEL,
        "format": {"csv": "utf-8", "id": "row", "text": "text"},
        "clean": ["nfc", "join_whitespace"],
        "minimum_characters": 5,
        "drop_repeats": 8,
        "order": "hash",
    }
    return parse_corpus(name, {**entry, **changes}, source="subjects.yaml")


def zipped(rows: list[tuple[str, str]], *, files: int = 1) -> bytes:
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("party", "text", "row"))
    writer.writerows(("x", text, id_) for id_, text in rows)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(files):
            archive.writestr(f"{number}.csv", table.getvalue().encode("utf-8"))
    return packed.getvalue()


def test_cleaning_normalises_then_joins_whitespace():
    """The cleaned text is what is tokenised, so each step and their order decide the ids."""
    decomposed = "Cafe\u0301\u00a0au \t lait\n\nplease "
    assert ordered_texts(corpus(), zipped([("7", decomposed)])) == [("7", "Caf\u00e9 au lait please")]


def test_order_is_that_of_the_hash_of_name_and_id():
    """The order is random but fixed by the corpus name and the ids alone, not by the file."""
    rows = [(str(number), f"{number} speech number {number}") for number in range(20)]
    ids = [id_ for id_, _ in ordered_texts(corpus(), zipped(rows))]
    assert ids == sorted(ids, key=lambda id_: hashlib.sha256(f"speeches|{id_}".encode()).hexdigest())
    assert ids == [id_ for id_, _ in ordered_texts(corpus(), zipped(rows[::-1]))]
    assert ids[:4] == ["15", "16", "9", "12"]


def test_of_repeats_the_smallest_id_stays_and_digits_compare_as_integers():
    """ "98" stands before "107" as a number and after it as a string; the file numbers its rows."""
    rows = [("107", "the same beginning, a"), ("98", "the same beginning, b"), ("99", "another beginning")]
    assert dict(ordered_texts(corpus(), zipped(rows))) == {
        "98": "the same beginning, b",
        "99": "another beginning",
    }


def test_too_short_texts_leave_before_repeats_are_looked_for():
    """Steps apply in the order of the entry: a short text must not drive out a long one that begins alike."""
    changed = corpus(minimum_characters=12, drop_repeats=5)
    assert dict(ordered_texts(changed, zipped([("1", "alike"), ("2", "alike and longer")]))) == {
        "2": "alike and longer"
    }


def test_quoted_fields_keep_commas_quotes_and_line_breaks():
    """Speeches hold all three; a reader that splits on lines would tear them apart."""
    text = 'He said, "no",\nand sat down'
    assert ordered_texts(corpus(), zipped([("1", text)])) == [("1", 'He said, "no", and sat down')]


def test_lines_are_numbered_from_zero_and_only_line_feeds_end_them():
    """str.splitlines also breaks at form feeds and Unicode separators, which would shift every later id."""
    entry = corpus(format={"lines": "utf-8"}, order="given", minimum_characters=1, drop_repeats=None)
    data = "first\u2028line\nsecond\x0cline\nthird line\n".encode()
    assert ordered_texts(entry, data) == [("0", "first line"), ("1", "second line"), ("2", "third line")]


def test_parquet_texts_keep_their_order_and_are_left_as_they_are():
    """The hub corpus is used uncleaned, with row numbers as ids."""
    import pyarrow
    import pyarrow.parquet

    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["b  b", "", "a"], "meta": [1, 2, 3]}), sink)
    hub = {"dataset": "who/what", "revision": "a" * 40, "split": "train", "text": "text"}
    entry = parse_corpus("pile", {"hub": hub, "clean": [], "minimum_characters": 0, "order": "given"}, source="s")
    assert ordered_texts(entry, sink.getvalue()) == [("0", "b  b"), ("1", ""), ("2", "a")]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"not a zip", "not readable"),
        (zipped([("1", "a speech")], files=2), "2 files"),
        (zipped([("1", "a speech"), ("1", "another one")]), "twice"),
    ],
)
def test_bytes_of_another_format_are_refused(data: bytes, says: str):
    """A corpus that is not what the entry says must not be analysed as something else."""
    with pytest.raises(CorpusError, match=says):
        ordered_texts(corpus(), data)


def test_a_missing_column_is_named_with_those_there_are():
    """The message must say what was found and what was looked for."""
    changed = corpus(format={"csv": "utf-8", "id": "number", "text": "text"})
    with pytest.raises(CorpusError, match="no column 'number'; the columns are party, text, row"):
        ordered_texts(changed, zipped([("1", "a speech")]))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"clean": ["lowercase"]},
            r"texts\.speeches\.clean\[0\]: Invalid enum value 'lowercase'; allowed are nfc",
        ),
        ({"colour": 1}, r"texts\.speeches: .*unknown field `colour`; allowed are wheel, hub, generated"),
        ({"generated": "repeat"}, "exactly one of wheel, hub, generated; found wheel and generated"),
        ({"wheel": {**WHEEL, "sha": "x"}}, r"texts\.speeches\.wheel: .*allowed are name, version, member"),
        ({"wheel": {**WHEEL, "member_sha256": "abc"}}, r"texts\.speeches\.wheel\.member_sha256"),
        ({"format": {"csv": "utf-8"}}, "csv needs both"),
        ({"order": None}, "needs 'order'"),
        ({"minimum_characters": -1}, r"texts\.speeches\.minimum_characters"),
    ],
)
def test_a_mistake_in_an_entry_names_file_path_and_what_is_allowed(changes: dict[str, object], says: str):
    """A silent default here would change the texts of a whole study."""
    with pytest.raises(EntryError, match=says) as caught:
        corpus(**changes)
    assert str(caught.value).startswith("subjects.yaml: ")
    assert isinstance(caught.value, ResolventError)
