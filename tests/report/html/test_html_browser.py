"""The page in a real browser."""

from __future__ import annotations

import pytest
from pages import make_study, write_page
from webdriver import CHROMIUM, DRIVER, Browser

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)"
)

TAB = "\ue004"


@pytest.fixture(scope="module")
def browser():
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    return write_page(make_study(folder / "study"), folder / "report.html")


@pytest.mark.parametrize("dark", [False, True])
def test_no_console_error_and_no_request(browser, page, dark):
    """Nothing but the file itself is asked for."""
    browser.show(page, dark=dark)
    assert browser.console() == []
    asked = [address for address in browser.requests() if not address.startswith("data:")]
    assert asked == [page.resolve().as_uri()]


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_no_horizontal_scroll(browser, page, width, dark):
    """At 400 px wide everything is inside; tables may scroll in their own region."""
    browser.show(page, width=width, dark=dark)
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_each_verdict_cell_leads_to_its_section(browser, page):
    """By a click, with the section's head in view afterwards."""
    browser.show(page)
    browser.run("document.documentElement.style.scrollBehavior = 'auto'")
    count = browser.run("return document.querySelectorAll('a.verdict').length")
    assert count > 0
    for index in range(count):
        top, hit = browser.run(
            """
            const cell = document.querySelectorAll('a.verdict')[arguments[0]];
            cell.click();
            const target = document.getElementById(cell.hash.slice(1));
            return [target.getBoundingClientRect().top, location.hash === cell.hash];
            """,
            index,
        )
        assert hit
        assert -1 <= top < 900


def test_light_dark_and_paper_differ(browser, page):
    """The theme follows the reader's; paper is white, and its pictures too."""

    def grounds():
        script = """
            const dot = document.querySelector('.criterion svg');
            return [getComputedStyle(document.body).backgroundColor,
                    getComputedStyle(dot).getPropertyValue('--figure-ink').trim()];
        """
        return browser.run(script)

    browser.show(page)
    light = grounds()
    browser.show(page, dark=True)
    dark = grounds()
    browser.show(page, dark=True, medium="print")
    paper = grounds()
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert paper == ["rgb(255, 255, 255)", "#000"]


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast(browser, page, dark):
    """WCAG AA: 4.5 to 1 for every word on its ground."""
    browser.show(page, dark=dark)
    worst = browser.run(
        """
        const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
        const rgba = colour => {
          canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
          return [...canvas.getImageData(0, 0, 1, 1).data];
        };
        const ground = element => {
          for (let e = element; e; e = e.parentElement) {
            const found = rgba(getComputedStyle(e).backgroundColor);
            if (found[3] === 255) return found;
          }
          return [255, 255, 255, 255];
        };
        const light = c => {
          const linear = v => v <= 10 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
          const [r, g, b] = c.slice(0, 3).map(linear);
          return .2126 * r + .7152 * g + .0722 * b;
        };
        let worst = [99, ''];
        for (const element of document.querySelectorAll('body *')) {
          const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
          if (!own || element.closest('svg') || element.closest('[aria-hidden=true]')) continue;
          const [a, b] = [light(rgba(getComputedStyle(element).color)), light(ground(element))];
          const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
          if (ratio < worst[0]) worst = [ratio, element.className + ': ' + element.textContent.trim().slice(0, 40)];
        }
        return worst;
        """
    )
    assert worst[0] >= 4.5, worst


def test_the_keyboard_reaches_the_verdicts(browser, page):
    """The first stop skips to the matrix, and every stop is seen."""
    browser.show(page)
    browser.press(TAB)
    assert browser.run("return document.activeElement.hash") == "#matrix"
    for _ in range(6):
        browser.press(TAB)
        outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"


def test_a_screen_reader_is_told_what_is_drawn(browser, page):
    """Pictures have names, the matrix has headers, landmarks are there."""
    browser.show(page)
    nodes = [node for node in browser.accessibility_tree() if not node.get("ignored")]
    roles = [node["role"]["value"] for node in nodes]
    for role in ("main", "banner", "contentinfo", "table", "rowheader", "columnheader", "heading"):
        assert role in roles, role
    pictures = [node for node in nodes if node["role"]["value"] in ("image", "img", "graphics-document")]
    assert pictures
    assert all(node["name"]["value"] for node in pictures)


def test_equal_cells_for_all_verdicts(browser, page):
    """A negative is not smaller, paler or elsewhere: width, padding and font are the same."""
    browser.show(page)
    looks = browser.run(
        """
        return [...document.querySelectorAll('a.verdict')].map(cell => {
          const style = getComputedStyle(cell);
          return [cell.getBoundingClientRect().width, style.padding, style.fontSize, style.fontWeight].join(' ');
        });
        """
    )
    assert len(set(looks)) == 1
