"""Panels as files and as elements of a page."""

import re

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.report.figures import palette
from resolvent.report.figures.axis import power_of_ten
from resolvent.report.figures.panel import FORMATS, Panel, figure_of, inline_svg, write_figure


def drawn(axes):
    axes.plot([1, 2, 3], [1, 4, 9], marker="o", color=palette.SUPPORT)
    axes.imshow(np.eye(3))


PANEL = Panel("Squares", "three & more points", drawn)


def test_every_id_on_a_page_is_the_panel_s_own():
    """Two figures on one page must not share a clip path or a marker."""
    one, other = inline_svg(PANEL, "one"), inline_svg(PANEL, "other")
    ids = [re.findall(r' id="([^"]+)"', text) for text in (one, other)]
    assert all(name.startswith("one-") for name in ids[0])
    assert not set(ids[0]) & set(ids[1])
    assert len(ids[0]) == len(set(ids[0]))
    referenced = re.findall(r'(?:url\(#|href="#)([^)"]+)', one)
    assert referenced
    assert set(referenced) <= set(ids[0])


def test_a_page_s_figure_speaks_and_follows_the_theme():
    """Title and description for a screen reader; colours by role, with the light ones as a fallback."""
    text = inline_svg(PANEL, "one")
    assert 'role="img" aria-labelledby="one-title one-desc"' in text
    assert '<desc id="one-desc">three &amp; more points</desc>' in text
    assert f"var(--figure-support, {palette.SUPPORT})" in text
    assert not re.search(rf"(?<!, ){palette.SUPPORT}", text)
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text), "nothing to fetch"
    assert "<style" not in text
    assert "<text" in inline_svg(Panel("t", "d", lambda axes: axes.set_xlabel("words")), "two"), "words stay words"


def test_equal_panels_give_equal_files(tmp_path):
    """A report under version control must not change with the day."""
    for name in ("a.svg", "b.svg"):
        (tmp_path / name[0]).mkdir()
        write_figure(figure_of([PANEL], title="t", footnote="f"), tmp_path / name[0] / "same.svg")
    assert (tmp_path / "a" / "same.svg").read_bytes() == (tmp_path / "b" / "same.svg").read_bytes()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_figure_is_written_in_the_format_of_its_name(tmp_path, suffix):
    """By the file's first bytes."""
    write_figure(figure_of([PANEL, PANEL], title="two"), tmp_path / f"figure{suffix}")
    head = (tmp_path / f"figure{suffix}").read_bytes()[:8]
    assert head.startswith({".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix])


def test_other_formats_and_folders_are_refused(tmp_path):
    """The message names what is allowed."""
    with pytest.raises(ResolventError, match=r"allowed: \.svg, \.png, \.pdf"):
        write_figure(figure_of([PANEL]), tmp_path / "figure.gif")
    with pytest.raises(ResolventError, match="folder does not exist"):
        write_figure(figure_of([PANEL]), tmp_path / "nowhere" / "figure.svg")


def test_the_style_is_not_left_behind():
    """The library is used beside anybody's own figures."""
    import matplotlib

    before = matplotlib.rcParams["font.size"]
    inline_svg(PANEL, "one")
    assert matplotlib.rcParams["font.size"] == before


@pytest.mark.parametrize(
    ("value", "label"), [(1e-12, "10⁻¹²"), (1, "1"), (10, "10"), (1000, "10³"), (2, ""), (0, ""), (-1, "")]
)
def test_powers_of_ten_are_plain_text(value, label):
    """Typeset mathematics would be read aloud as markup."""
    assert power_of_ten(value) == label
