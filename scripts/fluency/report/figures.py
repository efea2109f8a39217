"""Three kinds of figures: the gaps, and for each model its tasks and its failures; greys that print well, as SVG.

Sizes are in inches. The same numbers give the same bytes each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from itertools import cycle
from math import ceil
from threading import Lock
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fluency.analysis.decision_table import DIRECTION_PP, NOISE_PP
from fluency.analysis.gap import GapEstimate
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.common.words import plural
from fluency.core.shells import SHELLS
from fluency.report.marks import FAILURES
from fluency.report.numbers import MINUS, signed, span
from fluency.report.sentences import claims_sentence, listed, short_names, telling_first

INK, MID, LIGHT, PALE, PAPER = "#1a1a1a", "#6b6b6b", "#d9d9d9", "#efefef", "#ffffff"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "fluency",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 9,
    "axes.edgecolor": MID,
    "axes.spines.left": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "path.simplify": False,
}
DARK = (
    "@media (prefers-color-scheme: dark) "
    "{ svg { filter: invert(1) hue-rotate(180deg); background: #ffffff } }"
)
"""The greys are turned over where the reader's page is dark."""
_LOCK = Lock()


@dataclass(frozen=True)
class Drawing:
    """One figure: its kind and model (empty: all), file name, SVG text, and what it shows in words."""

    kind: str
    model: str
    name: str
    svg: str
    alt: str


def draw_figures(analysis: Analysis) -> list[Drawing]:
    """All figures of a report, in its order; what was not measured is not drawn."""
    drawings: list[Drawing | None] = []
    with _figure_style():
        drawings.append(draw_gaps(analysis))
        for model in analysis.models:
            drawings.append(draw_tasks(analysis, model))
            drawings.append(draw_failures(model))
    return [drawing for drawing in drawings if drawing]


@contextmanager
def _figure_style() -> Iterator[None]:
    """The figures' settings over the library's defaults, not the user's; for one thread at a time, since
    they are the library's globals.
    """
    with _LOCK, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _new_axes(
    width: float, height: float, margins: tuple[float, float, float, float]
) -> tuple[Figure, Axes]:
    """A figure with one axes; margins: left, bottom, right, top."""
    left, bottom, right, top = margins
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    box = (
        left / width,
        bottom / height,
        (width - left - right) / width,
        (height - bottom - top) / height,
    )
    return figure, figure.add_axes(box)


def _label_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Names left of the rows: plain texts, since an axis with a tick a row takes far longer to draw."""
    axes.set_yticks([])
    for row, label in enumerate(labels):
        where: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right"}
        axes.annotate(label, (0, row), (-6, 0), textcoords="offset points", va="center", **where)


def _text_width(texts: Sequence[str], size: float = 9) -> float:
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
    svg = re.sub(
        r"(<title>[^<]*</title>)",
        lambda found: f"{found[1]}\n <desc>{escape(alt)}</desc>",
        svg,
        count=1,
    )
    svg = svg.replace("<defs>", f"<style>{DARK}</style>\n <defs>", 1)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


GAP_ROW = 0.62


def draw_gaps(analysis: Analysis) -> Drawing | None:
    """A forest of gaps; None if no model has one."""
    shown = [(model, model.gap) for model in telling_first(analysis) if model.gap]
    gaps = {model.model: gap for model, gap in shown}
    if not gaps:
        return None
    baseline, challenger = short_names(analysis.contrast)
    reach = max(abs(100 * edge) for gap in gaps.values() for edge in (*gap.interval, gap.value))
    limit = min(100, max(20, 5 * ceil((reach + 3) / 5)))
    left = max(0.9, _text_width(list(gaps)) + 0.25)
    size, margins = (left + 4.4, 1.75 + GAP_ROW * len(gaps)), (left, 0.98, 0.3, 0.7)
    figure, axes = _new_axes(*size, margins)
    axes.set_xlim(-limit, limit)
    axes.set_ylim(len(gaps) - 0.5, -0.5)
    _bands(axes, limit, baseline, challenger)
    for row, gap in enumerate(gaps.values()):
        _gap_row(axes, row, gap, 0.55 * limit)
    _label_rows(axes, list(gaps))
    axes.xaxis.set_major_formatter(
        lambda tick, _: f"{tick:+.0f}".replace("-", MINUS) if tick else "0"
    )
    axes.set_xlabel(f"← {baseline} better  ·  gap in points  ·  {challenger} better →")
    legend = (
        "diamond: the gap · line: 95 % interval for tasks like these\n"
        "grey bar: 95 % interval for exactly these tasks"
    )
    if any(gap.edge for gap in gaps.values()):
        legend += "\ndashed, hollow: the tasks are too easy or too hard to tell by how much"
    figure.text(
        0.1 / figure.get_figwidth(), 0.08 / figure.get_figheight(), legend, fontsize=7.5, color=MID
    )
    alt = (
        f"Gap of each model in points, {challenger} less {baseline}, over the bands of the decision table. "
        + " ".join(
            f"{model.model}: {signed(gap.value)}, 95 % interval {span(gap.interval)}"
            + (f". {claims_sentence(model)}" if model.reading.band else ", not compared.")
            for model, gap in shown
        )
    )
    return Drawing("gaps", "", "gaps.svg", to_svg(figure, "Gaps over the decision table", alt), alt)


def _bands(axes: Axes, limit: float, baseline: str, challenger: str) -> None:
    for low, high, name in (
        (-limit, -DIRECTION_PP, f"{baseline} by\n{DIRECTION_PP} or more"),
        (-DIRECTION_PP, -NOISE_PP, "no rule"),
        (-NOISE_PP, NOISE_PP, f"less\nthan {NOISE_PP}"),
        (NOISE_PP, DIRECTION_PP, "no rule"),
        (DIRECTION_PP, limit, f"{challenger} by\n{DIRECTION_PP} or more"),
    ):
        if name != "no rule":
            axes.axvspan(
                low, high, color=LIGHT if low == -NOISE_PP else PALE, linewidth=0, zorder=0
            )
        axes.annotate(
            name,
            ((low + high) / 2, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            rotation=90 if name == "no rule" or high - low < limit * 0.2 else 0,
            fontsize=7.5,
            color=INK,
        )
    for edge in (-DIRECTION_PP, -NOISE_PP, NOISE_PP, DIRECTION_PP):
        axes.axvline(edge, color=MID, linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)


def _gap_row(axes: Axes, row: int, gap: GapEstimate, farthest: float) -> None:
    """One model, its numbers above; dashed and hollow where its tasks cannot tell."""
    value, edge = 100 * float(gap.value), gap.edge
    ends = [100 * float(end) for end in gap.interval]
    dashes: Any = (0, (3, 2)) if edge else "-"
    axes.plot(ends, [row, row], color=INK, linewidth=1.3, linestyle=dashes, zorder=3)
    if gap.fixed:
        ends = [value - 100 * gap.fixed, value + 100 * gap.fixed]
        axes.plot(
            ends, [row + 0.24] * 2, color="#9a9a9a", linewidth=4, solid_capstyle="butt", zorder=2
        )
    fill, rim = (PAPER, INK) if edge else (INK, PAPER)
    axes.plot([value], [row], marker="D", markersize=6.5, color=fill, markeredgecolor=rim, zorder=4)
    note = f"{signed(gap.value)}  ({span(gap.interval)})"
    centre = max(-farthest, min(farthest, value))
    axes.annotate(note, (centre, row), (0, 7), textcoords="offset points", ha="center")


TASK_ROW = 0.25
Rates = Mapping[str, float | None]
"""Per cent by shell; None where nothing was measured."""


class Mark(NamedTuple):
    """How a shell's rates are drawn: shape, area and outline in points, fill, and rows below the task's line."""

    shape: str
    area: float
    outline: float
    fill: str
    below: float = 0.0


BASELINE_MARK = Mark("o", 72, 1.3, PAPER)
CHALLENGER_MARK = Mark("D", 22, 0.8, INK)
FURTHER_MARKS = tuple(Mark(shape, 24, 0.8, LIGHT, 0.3) for shape in "^sv")


def draw_tasks(analysis: Analysis, model: ModelAnalysis) -> Drawing | None:
    """Dots of all shells for each task that tells something, the challenger's largest lead first.

    Left out, with their number: tasks passed always or never in every shell. None where no other is left.
    """
    rates = {task: _rates(model, place) for place, task in enumerate(analysis.tasks)}
    told = {task: {*by_shell.values()} - {None} for task, by_shell in rates.items()}
    baseline, challenger = model.outcomes.contrast
    marks = _marks(model)
    lead = {task: (by[challenger] or 0) - (by[baseline] or 0) for task, by in rates.items()}
    tasks = sorted(
        (task for task in rates if told[task] - {0.0} and told[task] - {100.0}),
        key=lambda t: (-lead[t], t),
    )
    if not tasks:
        return None
    shown = [
        shell for shell in marks if any(by_shell[shell] is not None for by_shell in rates.values())
    ]
    left = _text_width(tasks) + 0.2
    figure, axes = _new_axes(left + 3.8, 1.3 + TASK_ROW * len(tasks), (left, 0.7, 0.3, 0.6))
    axes.set_xlim(-4, 104)
    axes.set_ylim(len(tasks) - 0.4, -0.6)
    _dots(axes, [rates[task] for task in tasks], marks, model.outcomes.contrast)
    _label_rows(axes, tasks)
    axes.set_xticks([0, 20, 40, 60, 80, 100])
    axes.set_xlabel(f"runs passed, % (of {model.outcomes.trials} a task and shell)")
    _legend(axes, turned=True)
    flat = _flat_tasks(told)
    figure.text(
        0.1 / figure.get_figwidth(), 0.06 / figure.get_figheight(), flat, fontsize=7.5, color=MID
    )
    alt = f"Share of passed runs of {model.model} by task, in {listed(short_names(shown))}. {flat}".strip()
    return _model_drawing("tasks", "Tasks", model, figure, alt)


def _flat_tasks(told: Mapping[str, set[float | None]]) -> str:
    counts = [
        f"{plural(count, 'task')} {how}"
        for how, rate in (
            ("always passed in every shell", 100.0),
            ("never passed in any shell", 0.0),
        )
        if (count := sum(values == {rate} for values in told.values()))
    ]
    return f"Not shown: {listed(counts)}." if counts else ""


def _model_drawing(
    kind: str, title: str, model: ModelAnalysis, figure: Figure, alt: str
) -> Drawing:
    height = figure.get_figheight()
    figure.text(0.1 / figure.get_figwidth(), 1 - 0.2 / height, model.model, weight="bold")
    svg = to_svg(figure, f"{title}, {model.model}", alt)
    return Drawing(kind, model.model, f"{kind}-{model.model}.svg", svg, alt)


def _rates(model: ModelAnalysis, place: int) -> Rates:
    return {
        shell: 100 * counts.passes[place] / counts.scored[place] if counts.scored[place] else None
        for shell, counts in model.outcomes.by_shell.items()
    }


def _marks(model: ModelAnalysis) -> dict[str, Mark]:
    roles = dict(zip(model.outcomes.contrast, (BASELINE_MARK, CHALLENGER_MARK), strict=True))
    further = cycle(FURTHER_MARKS)
    return {shell: roles.get(shell) or next(further) for shell in model.outcomes.by_shell}


def _dots(
    axes: Axes, rates: Sequence[Rates], marks: Mapping[str, Mark], contrast: tuple[str, str]
) -> None:
    """The rows' rules, a level line between the contrasted shells, and the marks; the challenger's fits in the ring."""
    axes.hlines(range(len(rates)), -4, 104, color=LIGHT, linewidth=0.5, zorder=0)
    pairs = {
        row: (by_shell[contrast[0]], by_shell[contrast[1]]) for row, by_shell in enumerate(rates)
    }
    for row, (one, other) in pairs.items():
        if one is not None and other is not None:
            axes.plot([one, other], [row, row], color=MID, linewidth=1.3, zorder=1)
    for shell, mark in reversed(list(marks.items())):
        places = [
            (rate, row + mark.below)
            for row, by_shell in enumerate(rates)
            if (rate := by_shell[shell]) is not None
        ]
        if not places:
            continue
        axes.scatter(
            [rate for rate, _ in places],
            [row for _, row in places],
            s=mark.area,
            marker=mark.shape,
            facecolor=mark.fill,
            edgecolor=INK,
            linewidth=mark.outline,
            label=SHELLS[shell].short_title,
            zorder=2 if mark is BASELINE_MARK else 3,
        )


def _legend(axes: Axes, *, turned: bool = False) -> None:
    """Above the plot, in the order of drawing or turned."""
    handles, labels = axes.get_legend_handles_labels()
    step = -1 if turned else 1
    where: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.1}
    how: dict[str, Any] = {"ncol": len(labels), "frameon": False, "handletextpad": 0.4}
    axes.legend(handles[::step], labels[::step], **where, **how)


FAILURE_ROW = 0.34
MOST_CLASSES = 8


def draw_failures(model: ModelAnalysis) -> Drawing | None:
    """Bars of all measured shells for each failure class, the commonest first; None without a failure."""
    measured = {shell: tally.measured for shell, tally in model.tallies.items() if tally.measured}
    counts = {line.failure_class: line.counts for line in model.failures}
    classes = sorted(counts, key=lambda name: -sum(counts[name].values()))
    if not classes:
        return None
    rows = {_failed_how(name): counts[name] for name in classes[:MOST_CLASSES]}
    if rest := classes[MOST_CLASSES:]:
        rows["1 further class" if len(rest) == 1 else f"{len(rest)} further classes"] = {
            shell: sum(counts[name].get(shell, 0) for name in rest) for shell in measured
        }
    left = _text_width(list(rows)) + 0.2
    figure, axes = _new_axes(left + 3.4, 1.35 + FAILURE_ROW * len(rows), (left, 0.7, 0.3, 0.65))
    shares = [
        [100 * by_shell.get(shell, 0) / of for by_shell in rows.values()]
        for shell, of in measured.items()
    ]
    ticks = MaxNLocator(5, integer=True).tick_values(0, 1.1 * max(map(max, shares)))
    axes.set_xticks(ticks)
    axes.set_xlim(0, ticks[-1])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    marks, size = _marks(model), 0.76 / len(shares)
    for place, (shell, values) in enumerate(zip(measured, shares, strict=True)):
        heights = [row - 0.38 + size * (place + 0.5) for row in range(len(rows))]
        fill = marks[shell].fill
        how: dict[str, Any] = {"color": fill, "edgecolor": INK, "linewidth": 0.8}
        name = SHELLS[shell].short_title
        bars = axes.barh(heights, values, 0.86 * size, label=name, **how)
        texts = [str(by_shell.get(shell, 0)) for by_shell in rows.values()]
        axes.bar_label(bars, texts, padding=2, fontsize=7)
    _label_rows(axes, list(rows))
    axes.set_xlabel("% of the shell's runs (number: runs)")
    _legend(axes)
    alt = f"How runs of {model.model} failed, {' / '.join(short_names(measured))}: " + "; ".join(
        f"{words} {' / '.join(str(by_shell.get(shell, 0)) for shell in measured)}"
        for words, by_shell in rows.items()
    )
    return _model_drawing("failures", "Failures", model, figure, f"{alt}.")


def _failed_how(name: str) -> str:
    return FAILURES.get(name, ("", name))[1]
