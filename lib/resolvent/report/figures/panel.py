"""A panel: one pair of axes with its words. Panels become a matplotlib Figure, or SVG for a page."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError
from resolvent.report.figures import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png", ".pdf")

# A figure's unit is 1/72 inch; taken as CSS pixels, so that text of 10 units is text of 10 px.
_UNITS = 72

# Margin of a panel on a page, in CSS pixels, for what reaches over its upper edge.
_TOP = 8.0

# How far a page may blow a panel up where there is room.
_LARGEST = 1.3

# Four and more points in a row of one style.
_ALIKE = re.compile(r'<use [^>]*? style="(?P<style>[^"]*)"/>\n(?:<use [^>]*? style="(?P=style)"/>\n){3,}')

_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "font.family": "sans-serif",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "text.color": palette.INK,
    "axes.edgecolor": palette.MUTED,
    "axes.labelcolor": palette.INK,
    "xtick.color": palette.MUTED,
    "ytick.color": palette.MUTED,
    "xtick.labelcolor": palette.INK,
    "ytick.labelcolor": palette.INK,
    "axes.facecolor": "none",
    "figure.facecolor": palette.PAPER,
    "savefig.facecolor": palette.PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": False,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "axes.titlelocation": "left",
    "axes.unicode_minus": True,
}


@dataclass(frozen=True)
class Panel:
    """What one pair of axes shows.

    title         a few words, above it
    description   what is to be seen, with the numbers that a reader who can't see it needs
    draw          draws it into empty axes
    width, height CSS pixels
    left, bottom, right   CSS pixels for the labels of the axes, right for a scale of colours
    """

    title: str
    description: str
    draw: Callable[[Axes], Any]
    width: float = 340.0
    height: float = 270.0
    left: float = 52.0
    bottom: float = 42.0
    right: float = 8.0


@contextmanager
def styled() -> Iterator[None]:
    """matplotlib with the figures' style, and with nothing of the user's own."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def figure_of(panels: Sequence[Panel], *, title: str = "", footnote: str = "") -> Figure:
    """The panels side by side, each in its own size, under a title and above a footnote."""
    from matplotlib.figure import Figure

    with styled():
        height = max(panel.height for panel in panels) + 36 * bool(title) + 26 * bool(footnote)
        widths = [panel.width for panel in panels]
        figure = Figure(figsize=(sum(widths) / _UNITS, height / _UNITS), layout="constrained")
        axes = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
        for panel, one in zip(panels, axes, strict=True):
            one.set_title(panel.title, fontweight="bold")
            panel.draw(one)
        if title:
            wrapped = textwrap.fill(title, int(sum(widths) / 6.8))
            figure.suptitle(wrapped, x=0.01, ha="left", fontsize=12, fontweight="bold")
        if footnote:
            figure.supxlabel(
                textwrap.fill(footnote, int(sum(widths) / 4.4)), x=0.01, ha="left", fontsize=8, color=palette.MUTED
            )
        return figure


def check_figure_path(path: Path) -> None:
    """Raises ResolventError for a figure that could not be written: before minutes of computing, not after."""
    if path.suffix not in FORMATS:
        raise ResolventError(f"{path}: unknown format '{path.suffix}'; allowed: {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise ResolventError(f"{path}: its folder does not exist")


def write_figure(figure: Figure, path: Path) -> None:
    """Writes a figure in the format of the suffix; equal figures give equal SVG files.

    Raises ResolventError for another suffix or a folder that can't be written to.
    """
    check_figure_path(path)
    try:
        path.write_bytes(_rendered(figure, path.suffix[1:], salt=path.stem))
    except OSError as error:
        raise ResolventError(f"{path}: can't be written: {error.strerror}") from None


def inline_svg(panel: Panel, name: str) -> str:
    """The panel as an SVG element of a page, without its title, which the page sets.

    name  unique on the page: every id in the SVG begins with it
    Colours of the palette become `var(--figure-<role>, <light value>)`. Title and description are what a screen reader
    says; sizes are left to the page but for the ratio.
    """
    with styled():
        text = _rendered(_bare_figure(panel), "svg", salt=name).decode("utf-8")
    return page_svg(text, name, title=panel.title, description=panel.description, width=panel.width)


def _bare_figure(panel: Panel) -> Figure:
    """The panel alone, without title or ground, with margins in place of a layout engine: four times as fast."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(panel.width / _UNITS, panel.height / _UNITS), facecolor="none")
    left, bottom = panel.left / panel.width, panel.bottom / panel.height
    right, top = 1 - panel.right / panel.width, 1 - _TOP / panel.height
    panel.draw(figure.add_axes((left, bottom, right - left, top - bottom)))
    return figure


def page_svg(text: str, name: str, *, title: str, description: str, width: float) -> str:
    """matplotlib's SVG file as an element of a page; see `inline_svg`."""
    body = text[text.index("<svg") :]
    head, _, rest = body.partition(">")
    box = re.search(r'viewBox="([^"]*)"', head)
    assert box is not None, "matplotlib's SVG has a viewBox"
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    rest = re.sub(r"<!--.*?-->\s*", "", rest, flags=re.DOTALL)
    referenced = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', rest))
    rest = re.sub(r' id="([^"]+)"', lambda match: _kept_id(match[1], referenced, name), rest)
    rest = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", rest)
    for role, colour in palette.ROLES.items():
        rest = rest.replace(colour, f"var(--figure-{role}, {colour})")
    rest = re.sub(r"font-family: [^;\"]*", "font-family: inherit", rest)
    # A style sheet of the file's own would leak into the page.
    rest = re.sub(r"<style type=\"text/css\">.*?</style>", "", rest, flags=re.DOTALL)
    rest = re.sub(r"<defs>\s*</defs>|<g/>", "", rest)
    # A hundredth of a pixel is enough: half the size of the page.
    rest = re.sub(r'( (?:d|x|y|width|height)="[^"]*")', lambda match: re.sub(r"(\.\d\d)\d+", r"\1", match[1]), rest)
    rest = re.sub(r"\n\s*", "\n", rest)
    rest = _ALIKE.sub(_styled_once, rest)
    label = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    return (
        f'<svg class="figure" viewBox="{box[1]}" style="max-width:{_LARGEST * width:.0f}px" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" stroke-linejoin="round" stroke-linecap="butt">{label}{rest}'
    )


def _styled_once(run: re.Match[str]) -> str:
    """Points of one look, which matplotlib writes out for each."""
    style = run["style"]
    return f'<g style="{style}">\n' + run[0].replace(f' style="{style}"/>', "/>") + "</g>\n"


def _kept_id(found: str, referenced: set[str], name: str) -> str:
    return f' id="{name}-{found}"' if found in referenced else ""


def _rendered(figure: Figure, form: str, *, salt: str) -> bytes:
    """The bytes of a file. matplotlib hashes ids with `salt` in place of a random number."""
    import matplotlib

    buffer = io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with styled():
        matplotlib.rcParams["svg.hashsalt"] = salt
        figure.savefig(buffer, format=form, metadata=metadata, dpi=200, facecolor=figure.get_facecolor())
    return buffer.getvalue()
