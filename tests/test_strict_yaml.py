"""YAML that would be misread is refused with file, line and key."""

from pathlib import Path

import pytest

from resolvent.strict_yaml import YamlError, parse_yaml, read_yaml


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "x: {b: 1, b: 2}\n", "- {c: 1, d: 2, c: 3}\n"])
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    """safe_load keeps the last one without a word, which would change a frozen threshold unseen."""
    with pytest.raises(YamlError, match="stands twice"):
        parse_yaml(text, source="claim.yaml")


@pytest.mark.parametrize("number", ["1e-3", "1E5", "1.0e3", "-2.5e4", "3e+2"])
def test_a_number_that_yaml_reads_as_a_string_is_refused(number: str) -> None:
    """YAML 1.1 wants a point and a signed exponent; anything else silently becomes a string."""
    with pytest.raises(YamlError, match=r"claim\.yaml: line 1"):
        parse_yaml(f"threshold: {number}\n", source="claim.yaml")


@pytest.mark.parametrize("number", ["010", "-017", "1:30", "1:30:00", "1:30.5"])
def test_a_number_that_is_another_one_to_yaml_is_refused(number: str) -> None:
    """YAML 1.1 reads octal and sexagesimal numbers."""
    with pytest.raises(YamlError, match=f"mine.yaml: line 1: '{number}' is .* to YAML"):
        parse_yaml(f"texts: {number}", source="mine.yaml")


@pytest.mark.parametrize("text", ["a: 1\nb: [2\n", "a: 1\nb: @c\n", "a: 1\n\tb: 2\n", "a: 1\nb: \a\n"])
def test_a_syntax_error_names_the_file_alone(text: str) -> None:
    """PyYAML calls what it parses "<unicode string>", which is nobody's file."""
    with pytest.raises(YamlError, match=r"^mine\.yaml: .*not valid YAML") as raised:
        parse_yaml(text, source="mine.yaml")
    assert "unicode string" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_keys_that_are_the_same_to_yaml_are_named_as_written() -> None:
    """`1` and `true` fall on one place of a mapping."""
    with pytest.raises(
        YamlError, match=r"line 2: key 'true' stands twice \(first at line 1, as '1', which is the same"
    ):
        parse_yaml("1: a\ntrue: b\n", source="mine.yaml")


def test_a_date_that_is_none_is_refused() -> None:
    with pytest.raises(YamlError, match="not valid YAML: month"):
        parse_yaml("registered: 2026-13-01", source="mine.yaml")


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("0.5", 0.5), ("-0.25", -0.25), ("00.5", 0.5), ("1_000", 1000), ("0x10", 16)]
)
def test_plain_numbers_keep_their_meaning(text: str, value: object) -> None:
    assert parse_yaml(text, source="x") == value


@pytest.mark.parametrize(("text", "value"), [("1.0e-3", 1e-3), ("1.0e+4", 1e4), ("'1e-3'", "1e-3"), ("e5", "e5")])
def test_proper_numbers_and_quoted_strings_pass(text: str, value: object) -> None:
    """What is unambiguous stays as it is."""
    assert parse_yaml(f"a: {text}", source="x")["a"] == value


def test_anchors_and_merges_keep_their_meaning() -> None:
    """The check of keys must not break what YAML itself offers."""
    assert parse_yaml("base: &b {x: 1}\nuse: {<<: *b, y: 2}\n", source="x")["use"] == {"x": 1, "y": 2}


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    """A missing file is a user's mistake, not a traceback."""
    with pytest.raises(YamlError, match=r"missing\.yaml"):
        read_yaml(tmp_path / "missing.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1, 2\n")
    with pytest.raises(YamlError, match=r"bad\.yaml: line 2: not valid YAML"):
        read_yaml(tmp_path / "bad.yaml")
