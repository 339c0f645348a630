"""The page of a whole study on a tiny model: every claim with its own figure, drawn from the evidence of the run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tiny_study import make_study, run_study, verdicts

sys.path.insert(0, str(Path(__file__).parents[1] / "report" / "html"))
from webdriver import CHROMIUM, DRIVER, Browser

from resolvent.cli import main
from resolvent.report.figures.of_claims import has_figure


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_study(tmp_path_factory.mktemp("page") / "tiny")
    run_study(made)
    return made


def page_of(root: Path) -> Path:
    return (root / "runs" / "latest" / "report.html").resolve()


def test_every_claim_has_its_figure(root: Path) -> None:
    """Whatever its verdict: figures come from the evidence, not from the outcome."""
    text = page_of(root).read_text(encoding="utf-8")
    for line in verdicts(root):
        section = text.partition(f'id="claim-{line["claim"]}-on-tiny"')[2].partition("</article>")[0]
        assert section, line["claim"]
        if line["verdict"] != "inestimable" and has_figure(line["claim"]):
            assert "<figure>" in section, f"{line['claim']}: {re.findall('No figure[^<]*', section)}"


def test_ids_stay_unique_among_all_figures(root: Path) -> None:
    """Clip paths and markers of some hundred pictures."""
    ids = re.findall(r' id="([^"]+)"', page_of(root).read_text(encoding="utf-8"))
    assert len(ids) == len(set(ids))


def test_the_page_is_the_same_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`resolvent report` on an untouched run and store."""
    before = page_of(root).read_text(encoding="utf-8")
    monkeypatch.chdir(root)
    assert main(["report"]) == 0
    assert page_of(root).read_text(encoding="utf-8") == before


def test_without_evidence_the_page_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers and criteria stay; a figure that can't be drawn is named, not left out in silence."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("RESOLVENT_EVIDENCE", str(root / "empty"))
    assert main(["report"]) == 0
    text = page_of(root).read_text(encoding="utf-8")
    for claim in ("mask_saturation", "signed_census", "interior_growth", "depth_failure", "state_conditionality"):
        section = text.partition(f'id="claim-{claim}-on-tiny"')[2].partition("</article>")[0]
        assert "is not in the store" in section, claim
        assert "Run it again" in text.partition(f'id="claim-{claim}"')[2].partition("</section>")[0]
    monkeypatch.delenv("RESOLVENT_EVIDENCE")
    assert main(["report"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["signed-census"],
        ["bos-mass-law"],
        ["depth"],
        ["state-change"],
        ["transient", "--head", "1.3"],
        ["portrait", "--head", "0.1", "--text", "3"],
        ["attention", "--head", "0.1", "--head", "1.2"],
    ],
)
def test_figures_of_a_subject(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str]
) -> None:
    """Each by its name; what the subject is stands below it."""
    monkeypatch.chdir(root)
    output = tmp_path / "figure.svg"
    name, *options = arguments
    assert main(["figure", name, *options, "--subject", "tiny", "--texts", "8", "-o", str(output)]) == 0
    assert "tiny: 2 layers of 4 heads" in output.read_text(encoding="utf-8")


@pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)"
)
def test_the_whole_page_in_a_browser(root: Path) -> None:
    """No error, no request, nothing wider than 400 px, every cell with a section."""
    browser = Browser()
    try:
        browser.show(page_of(root), width=400)
        assert browser.console() == []
        assert [url for url in browser.requests() if not url.startswith("data:")] == [page_of(root).as_uri()]
        assert browser.run("return document.documentElement.scrollWidth") <= 400
        lost = "return [...document.querySelectorAll('a.verdict')].filter(a => !document.querySelector(a.hash)).length"
        assert browser.run(lost) == 0
    finally:
        browser.close()
