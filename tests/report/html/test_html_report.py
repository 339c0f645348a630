"""report.html, read with an HTML parser: whole, self-contained, and even-handed."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from pages import FACTS, LINES, make_page, make_study

from resolvent.report.html.render import comparison, report_html

VOID = {"meta", "link", "br", "img", "hr", "input", "wbr"}


class Document(HTMLParser):
    """Elements as (name, attributes, text); `unclosed` holds what the end of the file left open."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.unclosed: list[str] = []
        self._open: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.unclosed.append(tag)
            self._open.append(self.elements[-1][2])

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self.unclosed, f"</{tag}> closes nothing"
        assert self.unclosed.pop() == tag
        self._open.pop()

    def handle_data(self, data):
        for texts in self._open:
            texts.append(data)

    def of_class(self, name):
        return [one for one in self.elements if name in (one[1].get("class") or "").split()]

    def text_of(self, identity):
        (found,) = [one for one in self.elements if one[1].get("id") == identity]
        return " ".join(" ".join(found[2]).split())


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def text(study):
    return report_html(make_page(study))


@pytest.fixture(scope="module")
def document(text):
    return Document(text)


def test_the_page_is_well_formed(document):
    """Every element that opens closes, in order."""
    assert document.unclosed == []


def test_nothing_is_fetched(text, document):
    """One file, readable in ten years and in a train: no address but fragments, data and namespaces."""
    for tag, attributes, _ in document.elements:
        for name, value in attributes.items():
            if name in ("href", "src", "xlink:href", "srcset", "action", "data", "poster"):
                assert value is not None
                assert value.startswith(("#", "data:")), f"<{tag} {name}={value}>"
            assert not name.startswith("on"), f"<{tag}> has a script"
    assert not [tag for tag, _, _ in document.elements if tag in ("script", "iframe", "object", "embed")]
    assert "@import" not in text
    assert not re.search(r"url\((?!#|data:)", text)


def test_ids_are_unique_and_references_lead_somewhere(document):
    """Labels, fragments and clip paths."""
    ids = Counter(attributes["id"] for _, attributes, _ in document.elements if "id" in attributes)
    assert [name for name, count in ids.items() if count > 1] == []
    for _, attributes, _ in document.elements:
        for name in ("href", "xlink:href"):
            value = attributes.get(name)
            if value and value.startswith("#"):
                assert value[1:] in ids, value
        for name in (attributes.get("aria-labelledby") or "").split():
            assert name in ids, name


def test_every_cell_leads_to_its_section(document):
    """Also those of missing verdicts, and with its word; one a claim and subject."""
    cells = [one for one in document.of_class("verdict") if one[0] == "a"]
    subjects = {line.pair[1] for line in LINES}
    claims = {line.pair[0] for line in LINES} | {"lost", "broken"}
    assert len(cells) == len(claims) * len(subjects)
    for _, attributes, words in cells:
        section = document.text_of((attributes["href"] or "")[1:])
        assert words[1] in section, "the section says the same word"


@pytest.mark.parametrize("claim", ["good", "bad", "open", "empty", "turned"])
def test_negatives_have_the_detail_of_positives(document, claim):
    """The same headings, whatever the verdict."""
    section = document.text_of(f"claim-{claim}")
    for word in ("The size is large.", "Known before freezing", "Run it again", "Protocol", "Exclusions"):
        assert word in section, word
    assert f'pytest "claims/test_all.py::test_{claim}[ada]" --subject=ada' in section


def test_a_criterion_shows_number_regions_and_margin(document):
    """In words beside the picture, for those who can't see it."""
    section = document.text_of("claim-bad-on-ada")
    for word in ("0.1 [0.05, 0.29]", "refutes", "≥ 0.5", "< 0.3", "-0.4", "other", "not blind"):
        assert word in section, word


def test_the_equation_is_at_the_top(document):
    """Counts of claims × subjects that add up, theorems apart, no percentage."""
    groups = [attributes["aria-label"] for _, attributes, _ in document.elements if attributes.get("role") == "group"]
    assert groups == [
        "findings: 8 registered = 3 supported + 1 refuted + 1 undecided + 1 inestimable + 1 errors + 1 missing",
        "theorems: 1 registered = 1 supported + 0 refuted + 0 undecided + 0 inestimable + 0 errors + 0 missing",
    ]
    (header,) = [one for one in document.of_class("top") if one[0] == "header"]
    assert "INCOMPLETE" in " ".join(header[2])
    assert "No verdict for lost on ada" in " ".join(header[2])


def test_provenance_is_at_the_top(text):
    """Ledger head, anchor, commit, and that it was edited."""
    head = text[: text.index('id="matrix"')]
    for word in ("1" * 64, "unanchored", "c" * 40, "with uncommitted changes"):
        assert word in head, word


def test_sections_stand_in_order_of_registration(document):
    """Drafts, which nobody registered, last."""
    sections = [attributes["id"] for tag, attributes, _ in document.elements if tag == "section" and "id" in attributes]
    order = ["theorem_of_size", "turned", "good", "bad", "open", "empty", "lost", "broken", "draft"]
    assert [name for name in sections if (name or "").startswith("claim-")] == [f"claim-{name}" for name in order]


def test_near_verdicts_flips_and_drafts_are_flagged(document):
    """In the cell, not only in the section."""
    flags = {
        (attributes["href"] or "").removeprefix("#claim-"): " ".join(words)
        for _, attributes, words in document.of_class("verdict")
        if "href" in attributes
    }
    assert "near a threshold" in flags["open-on-ada"]
    assert "near a threshold" not in flags["good-on-ada"]
    assert "flipped: recorded refuted" in flags["turned-on-ada"]
    assert "exploratory" in flags["draft-on-ada"]
    assert "missing" in flags["lost-on-ada"]
    assert "error" in flags["broken-on-ada"]
    assert "not run" in flags["bad-on-bell"]


def test_subjects_are_said_for_what_they_are(document):
    """Weights, blindness and the law, in the list and in every section."""
    for place in ("claim-good-on-ada", "claim-bad-on-ada"):
        assert "dequantised from Q4_1" in document.text_of(place)
        assert "BOS mass alone predicts a median K_dev of 2 (2.5 measured)" in document.text_of(place)


def test_published_and_amendments_are_shown_and_escaped(text, document):
    """Both verdicts of an amended claim; no markup from a YAML file becomes markup of the page."""
    assert "larger <still> & more" in document.text_of("claim-bad")
    section = document.text_of("claim-turned")
    assert "the threshold was <mistyped>. Verdicts before: none recorded; now, post hoc: ada: supported" in section
    assert "<still>" not in text
    assert "<mistyped>" not in text


def test_pictures_are_described(document):
    """A screen reader gets title and numbers of each."""
    pictures = [one for one in document.elements if one[0] == "svg"]
    assert len(pictures) == sum(len(line.judgement.criteria) for line in LINES)
    for _, attributes, words in pictures:
        assert attributes["role"] == "img"
        assert "margin" in " ".join(words)


def test_tables_have_scoped_headers(document):
    """Cells are announced with their row and column."""
    headers = [attributes for tag, attributes, _ in document.elements if tag == "th"]
    assert headers
    assert all(attributes.get("scope") in ("row", "col", "colgroup") for attributes in headers)


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({"incomplete": [], "errors": [], "expected": []}, ("COMPLETE",)),
        ({"partial": True}, ("PARTIAL", "INCOMPLETE")),
        ({"exploratory": True, "incomplete": []}, ("EXPLORATORY",)),
        ({"incomplete": []}, ("INCOMPLETE",)),
    ],
)
def test_the_state_is_never_better_than_the_run(study, facts, state):
    """A missing verdict alone makes it INCOMPLETE."""
    assert make_page(study, **facts).state == state


def test_a_killed_run_can_be_reported(study):
    """There is no provenance then, and the page says so."""
    from resolvent.models.subjects import load_subjects
    from resolvent.report.html.build import build_page

    page = build_page(study, load_subjects(study), LINES[:1], {}, run="killed", evidence=None)
    assert page.state == ("INTERRUPTED",)
    assert "killed before its end" in report_html(page)


def test_facts_of_the_fixture_are_those_of_a_run():
    """The page is tested with what the controller writes."""
    assert set(FACTS) >= {"expected", "errors", "incomplete", "drafts", "bos_mass_law"}


def test_predicates_read_as_people_write_them():
    """`bound: low` is the lower end of the interval."""
    assert comparison("low >= 0.6") == "lower end ≥ 0.6"
    assert comparison("high < 0.3 and high > 0") == "upper end < 0.3 and upper end > 0"
