"""What is frozen of a file: content and comments, not layout."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from registry_builders import edit

from resolvent.errors import ResolventError
from resolvent.registry.canonical import canonical_json, claim_hash, comments_of, frozen_hash, subjects_hashes
from resolvent.study import Study

CLAIM = """claim: x   # first
protocol: {a: 1, b: "# no comment"}
says: >   # header
  folded # no comment
  é × text

# alone
last: 2
"""


def test_layout_is_free_content_and_comments_are_not(tmp_path: Path) -> None:
    """A claim may be re-indented; a number, a word or a pinned convention in a comment may not change."""
    path = tmp_path / "x.yaml"

    def hashed(text: str) -> str:
        path.write_text(text, encoding="utf-8")
        return claim_hash(path)

    frozen = hashed(CLAIM)
    assert hashed(CLAIM.replace("{a: 1, b: ", "{b: ").replace('comment"}', 'comment",\n  a: 1}')) == frozen
    assert hashed(CLAIM.replace("   # first", " #   first") + "\n\n") == frozen
    assert hashed(CLAIM.replace("\n", "\r\n")) == frozen
    for old, new in [
        ("a: 1", "a: 2"),
        ("last: 2", "last: 2.0"),
        ("# first", "# second"),
        ("# alone\n", ""),
        ("é", "e"),
    ]:
        assert hashed(CLAIM.replace(old, new)) != frozen


def test_hash_is_pinned(tmp_path: Path) -> None:
    """Another way of hashing would make every registered claim look edited."""
    path = tmp_path / "x.yaml"
    path.write_text(CLAIM, encoding="utf-8")
    frozen = (
        '{"comments":["first","header","alone"],"content":{"claim":"x","last":2,'
        '"protocol":{"a":1,"b":"# no comment"},"says":"folded # no comment é × text\\n"}}'
    )
    assert claim_hash(path) == hashlib.sha256(frozen.encode("utf-8")).hexdigest()


def test_comments_inside_scalars_are_no_comments() -> None:
    """A `#` in a quoted or folded text is text."""
    assert [comment.words for comment in comments_of(CLAIM)] == ["first", "header", "alone"]


@given(st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False) | st.integers() | st.booleans() | st.text()))
def test_canonical_json_ignores_the_order_of_keys(content: dict[str, object]) -> None:
    """Two files that say the same have the same hash."""
    assert canonical_json(dict(reversed(content.items()))) == canonical_json(content)
    assert frozen_hash(content, ["a"]) != frozen_hash(content, ["b"])


def test_what_json_lacks_is_refused() -> None:
    """A key 1 and a key "1" would hash alike."""
    for wrong in ({1: 2}, float("nan"), {"a": object()}):
        with pytest.raises(ResolventError):
            canonical_json(wrong)


def test_subject_added_later_changes_no_other_hash(study: Study) -> None:
    """Each entry is frozen on its own, so that the study can grow."""
    path = study.subjects_file
    before = subjects_hashes(path)
    edit(path, "  # mini-gpt2, mini-neox", "  mini: {bos: 0, trained: false}   # new\n  # mini-gpt2, mini-neox")
    edit(path, "subjects:\n", "subjects:\n  # a tiny one\n  tiny: {bos: 1}\n")
    edit(path, "  random_probe:", "  # a new text\n  novels:\n    order: given   # by hand\n  random_probe:")
    edit(path, "embedded: [smollm2-135m, ", "embedded: [smollm2-135m, mini, ")
    after = subjects_hashes(path)
    assert set(after) - set(before) == {"subject:mini", "subject:tiny", "text:novels"}
    assert {what: after[what] for what in before} == before


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("seed: 20261201", "seed: 1", "seed"),
        ("first four big-endian", "last four big-endian", "seed"),
        ("# ordinary: ids 0", "# ordinary: ids 1", "seed"),
        ("any special id is passed over too", "any special id is kept", "seed"),
        ("minimum_characters: 700            #", "minimum_characters: 600            #", "text:hansard"),
        ("# ascending hex", "# descending hex", "text:hansard"),
        ("# the wheel differs", "# no wheel differs", "text:lee"),
        ("bos: 50256", "bos: 50255", "subject:gpt2"),
        ("# not the base model", "# the base model", "subject:smollm2-135m"),
        ("steps: [0, 128,", "steps: [1, 128,", "subject:pythia-410m"),
    ],
)
def test_edit_changes_the_hash_of_its_own_entry_only(study: Study, old: str, new: str, changed: str) -> None:
    """The verification names what was edited."""
    before = subjects_hashes(study.subjects_file)
    edit(study.subjects_file, old, new)
    after = subjects_hashes(study.subjects_file)
    assert {what for what in before if before[what] != after[what]} == {changed}
