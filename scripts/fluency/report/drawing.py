"""Drawing with matplotlib: one style in greys that print well, sizes in inches, SVG with the same bytes each time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from threading import Lock
from typing import Any
from xml.sax.saxutils import escape

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, MID, LIGHT, PAPER = "#1a1a1a", "#6b6b6b", "#d9d9d9", "#ffffff"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "fluency",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 9,
    "axes.edgecolor": MID,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "path.simplify": False,
}
_LOCK = Lock()


@dataclass(frozen=True)
class Drawing:
    """One figure: its kind and model (empty: all), file name, SVG text, and what it shows in words."""

    kind: str
    model: str
    name: str
    svg: str
    alt: str


@contextmanager
def figure_style() -> Iterator[None]:
    """The figures' settings over the library's defaults, not the user's; for one thread at a time, since
    they are the library's globals.
    """
    with _LOCK, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_axes(width: float, height: float, margins: tuple[float, float, float, float]) -> tuple[Figure, Axes]:
    """A figure of inches with one axes; margins are inches too: left, bottom, right, top."""
    left, bottom, right, top = margins
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    box = (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    return figure, figure.add_axes(box)


def label_rows(axes: Axes, labels: Sequence[str], first: float = 0.0) -> None:
    """Names left of the rows: plain texts, since an axis with a tick a row takes far longer to draw."""
    axes.set_yticks([])
    for row, label in enumerate(labels):
        text_beside(axes, label, (0.0, row + first), -6, ha="right")


def text_beside(axes: Axes, text: str, place: tuple[float, float], points: float, **how: Any) -> None:
    """A text some points right of a place, which is a fraction of the axes and a row."""
    offset: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(text, place, (points, 0), **offset, va="center", **how)


def text_width(texts: list[str], size: float = 9) -> float:
    """Inches the longest text takes, a little generous since the reader's font may be wider."""
    return max((len(text) for text in texts), default=0) * size * 0.62 / 72


def to_svg(figure: Figure, title: str, alt: str) -> str:
    """The figure as SVG with its text alternative; no date, no random ids."""
    buffer = StringIO()
    metadata = {"Date": None, "Creator": None, "Title": title}
    FigureCanvasSVG(figure).print_svg(buffer, metadata=metadata)  # type: ignore[no-untyped-call]  # not in its stub
    svg = buffer.getvalue()
    described = f'<svg role="img" aria-label="{escape(alt, {chr(34): "&quot;"})}" '
    svg = svg.replace("<svg ", described, 1)
    svg = re.sub(r"(<title>[^<]*</title>)", lambda found: f"{found[1]}\n <desc>{escape(alt)}</desc>", svg, count=1)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
