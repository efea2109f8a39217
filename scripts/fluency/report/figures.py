"""The four kinds of figures: gaps, and for each model its tasks, its trials and its times."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import cycle
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from fluency.analysis.estimate import GapEstimate
from fluency.analysis.plan import DIRECTION_PP, NOISE_PP
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.shells import SHELLS
from fluency.report.drawing import (
    INK,
    LIGHT,
    MID,
    PAPER,
    Drawing,
    figure_style,
    label_rows,
    new_axes,
    text_beside,
    text_width,
    to_svg,
)
from fluency.report.numbers import points, seconds, signed, span
from fluency.report.sentences import listed, short_names


def draw_figures(analysis: Analysis, frame: pd.DataFrame) -> list[Drawing]:
    """All figures of a report, in its order; what was not measured is not drawn."""
    drawings: list[Drawing | None] = []
    with figure_style():
        drawings.append(draw_gaps(analysis))
        for model in analysis.models:
            drawings.append(draw_tasks(analysis, model))
            drawings.append(draw_cells(analysis, model))
            drawings.append(draw_times(model, frame[frame["model"] == model.model]))
    return [drawing for drawing in drawings if drawing]


GAP_ROW = 0.55


def draw_gaps(analysis: Analysis) -> Drawing | None:
    """A forest of gaps; None if no model has one."""
    gaps = {model.model: model.gap for model in analysis.models if model.gap}
    if not gaps:
        return None
    baseline, challenger = short_names(analysis.contrast)
    reach = max(abs(100 * edge) for gap in gaps.values() for edge in (*gap.s95, float(gap.value)))
    limit = min(100, max(20, 5 * ceil((reach + 3) / 5)))
    left = max(0.9, text_width(list(gaps)) + 0.25)
    figure, axes = new_axes(left + 4.6 + 1.75, 1.55 + GAP_ROW * len(gaps), (left, 0.62, 1.75, 0.85))
    axes.set_xlim(-limit, limit)
    axes.set_ylim(len(gaps) - 0.5, -0.5)
    _bands(axes, limit, baseline, challenger)
    for row, gap in enumerate(gaps.values()):
        _gap_row(axes, row, gap)
    label_rows(axes, list(gaps))
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"gap on pass@1, percentage points (right: {challenger} ahead)")
    legend = "◆ gap · thick 90 %, thin 95 %: tasks like these · grey bar 95 %: these tasks"
    if any(gap.claims.edge for gap in gaps.values()):
        legend += " · ◇ dashed: tasks that cannot tell"
    figure.text(left / figure.get_figwidth(), 0.06 / figure.get_figheight(), legend, fontsize=7.5, color=MID)
    alt = f"Gap on pass@1 per model, {challenger} less {baseline}, over the bands of the decision table. " + " ".join(
        f"{model}: {_edge_note(gap)}{signed(gap.value)} points, 95 % for tasks like these {span(gap.s95)}, "
        + ("on these tasks undefined." if gap.fixed is None else f"on these tasks ±{points(gap.fixed)}.")
        for model, gap in gaps.items()
    )
    return Drawing("gaps", "", "gaps.svg", to_svg(figure, "Gaps over the decision table", alt), alt)


def _edge_note(gap: GapEstimate) -> str:
    return f"no room, both arms at the {gap.claims.edge}; " if gap.claims.edge else ""


def _bands(axes: Axes, limit: float, baseline: str, challenger: str) -> None:
    for low, high, name in (
        (-limit, -DIRECTION_PP, f"{baseline} ≤ −{DIRECTION_PP}"),
        (-DIRECTION_PP, -NOISE_PP, "no rule"),
        (-NOISE_PP, NOISE_PP, "noise"),
        (NOISE_PP, DIRECTION_PP, "no rule"),
        (DIRECTION_PP, limit, f"{challenger} ≥ {DIRECTION_PP}"),
    ):
        if name != "no rule":
            axes.axvspan(low, high, color=LIGHT if name == "noise" else "#efefef", linewidth=0, zorder=0)
        wide = high - low > limit * 0.45
        axes.annotate(
            name,
            ((low + high) / 2, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            rotation=0 if wide else 90,
            fontsize=7.5,
            color=INK,
        )
    for edge in (-DIRECTION_PP, -NOISE_PP, NOISE_PP, DIRECTION_PP):
        axes.axvline(edge, color=MID, linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)


def _gap_row(axes: Axes, row: int, gap: GapEstimate) -> None:
    """One model; where its tasks leave no room, dashed and hollow, and marked so."""
    value, edge = 100 * float(gap.value), gap.claims.edge
    low, high = (100 * end for end in gap.s95)
    low90, high90 = (100 * end for end in gap.s90)
    if edge:
        axes.plot([low, high], [row, row], color=INK, linewidth=1.1, linestyle=(0, (3, 2)), zorder=3)
    else:
        axes.plot([low, high], [row, row], color=INK, linewidth=1.1, solid_capstyle="butt", zorder=3)
        axes.plot([low90, high90], [row, row], color=INK, linewidth=3.4, solid_capstyle="butt", zorder=3)
    if gap.fixed:
        ends = [value - 100 * gap.fixed, value + 100 * gap.fixed]
        axes.plot(ends, [row + 0.24] * 2, color="#9a9a9a", linewidth=4, solid_capstyle="butt", zorder=2)
    fill, rim = (PAPER, INK) if edge else (INK, PAPER)
    axes.plot([value], [row], marker="D", markersize=6.5, color=fill, markeredgecolor=rim, zorder=4)
    note = f"{signed(gap.value)}  ({span(gap.s95)})" + (f"\nno room: both at the {edge}" if edge else "")
    text_beside(axes, note, (1.0, row), 8)


TASK_ROW = 0.25
SHIFT = 0.13
Rates = Mapping[str, float | None]
"""Per cent by shell; None where nothing was measured."""


class Mark(NamedTuple):
    """How a shell's rates are drawn: shape, area and outline in points, size in the legend, fill."""

    shape: str
    area: float
    outline: float
    in_legend: float
    fill: str


BASELINE_MARK = Mark("o", 36, 1.2, 6.5, PAPER)
CHALLENGER_MARK = Mark("D", 25, 0.8, 5, INK)
FURTHER_MARKS = (Mark("^", 30, 0.8, 6, LIGHT), Mark("s", 25, 0.8, 5, LIGHT), Mark("v", 30, 0.8, 6, LIGHT))


def draw_tasks(analysis: Analysis, model: ModelAnalysis) -> Drawing | None:
    """Dots of all shells per task, by category and then by rate; None if nothing was measured."""
    rates = {task: _rates(model, place) for place, task in enumerate(analysis.tasks)}
    marks = _marks(model)
    shown = [shell for shell in marks if any(by_shell[shell] is not None for by_shell in rates.values())]
    if not shown:
        return None
    contrast = model.outcomes.contrast
    order = {category: place for place, category in enumerate(dict.fromkeys(analysis.categories.values()))}
    tasks = sorted(
        analysis.tasks,
        key=lambda task: (order[analysis.categories[task]], -sum(rates[task][shell] or 0 for shell in contrast), task),
    )
    left = text_width(list(tasks)) + 0.2
    right = max(0.5, text_width(list(order), 7.5) + 0.15)
    figure, axes = new_axes(left + 3.9 + right, 1.25 + TASK_ROW * len(tasks), (left, 0.5, right, 0.75))
    axes.set_xlim(-4, 104)
    axes.set_ylim(len(tasks) - 0.4, -0.6)
    _dots(axes, [rates[task] for task in tasks], marks, contrast)
    _categories(axes, [analysis.categories[task] for task in tasks])
    label_rows(axes, tasks)
    axes.set_xticks([0, 20, 40, 60, 80, 100])
    axes.set_xlabel(f"trials passed, % (of {model.outcomes.trials} at most)")
    axes.spines["left"].set_visible(False)
    _task_legend(axes, marks, shown)
    alt = (
        f"Pass rate of each task in {'both' if len(marks) == 2 else 'all'} shells for {model.model}. "
        f"{_leads(list(rates.values()), contrast, shown)} The table above holds the numbers."
    )
    return _model_drawing("tasks", "Tasks", model, figure, alt)


def _model_drawing(kind: str, title: str, model: ModelAnalysis, figure: Figure, alt: str, top: float = 0.25) -> Drawing:
    figure.text(0.1 / figure.get_figwidth(), 1 - top / figure.get_figheight(), model.model, weight="bold")
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


def _leads(rates: Sequence[Rates], contrast: tuple[str, str], shown: Sequence[str]) -> str:
    """On how many tasks which of the contrasted shells is ahead, in a sentence."""
    pairs = [(by_shell[contrast[0]], by_shell[contrast[1]]) for by_shell in rates]
    both = [(b, c) for b, c in pairs if b is not None and c is not None]
    if not both:
        return f"Only {listed(short_names(shown))} was measured."
    ahead, behind = sum(c > b for b, c in both), sum(c < b for b, c in both)
    baseline, challenger = short_names(contrast)
    return (
        f"Of {len(both)} tasks measured in both, {challenger} is ahead on {ahead}, {baseline} on {behind}, "
        f"{len(both) - ahead - behind} are level."
    )


def _dots(axes: Axes, rates: Sequence[Rates], marks: Mapping[str, Mark], contrast: tuple[str, str]) -> None:
    """Rules, lines and marks of all rows; the baseline's ring lies over the others where they coincide."""
    axes.hlines(range(len(rates)), -4, 104, color=LIGHT, linewidth=0.5, zorder=0)
    shifts = {shell: (place - (len(marks) - 1) / 2) * 2 * SHIFT for place, shell in enumerate(marks)}
    places = {
        shell: {row: (rate, row + shifts[shell]) for row, of in enumerate(rates) if (rate := of[shell]) is not None}
        for shell in marks
    }
    baseline, challenger = (places[shell] for shell in contrast)
    lines = [[baseline[row], challenger[row]] for row in range(len(rates)) if row in baseline and row in challenger]
    axes.add_collection(LineCollection(lines, color=MID, linewidth=1.3, zorder=1))
    for shell, mark in reversed(list(marks.items())):
        axes.scatter(
            [rate for rate, _ in places[shell].values()],
            [row for _, row in places[shell].values()],
            s=mark.area,
            marker=mark.shape,
            facecolor=mark.fill,
            edgecolor=INK,
            linewidth=mark.outline,
            zorder=3 if shell == contrast[0] else 2,
        )


def _task_legend(axes: Axes, marks: Mapping[str, Mark], shown: Sequence[str]) -> None:
    drawn = {
        shell: axes.plot([], [], marker=mark.shape, ls="", ms=mark.in_legend, mfc=mark.fill, mec=INK)[0]
        for shell, mark in marks.items()
    }
    names = short_names(shown)
    where: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.1}
    axes.legend([drawn[shell] for shell in shown], names, ncol=len(marks), frameon=False, **where)


def _categories(axes: Axes, categories: list[str]) -> None:
    start = 0
    for row in range(1, len(categories) + 1):
        if row < len(categories) and categories[row] == categories[start]:
            continue
        if row < len(categories):
            axes.axhline(row - 0.5, color=MID, linewidth=0.7)
        text_beside(axes, categories[start], (1.0, (start + row - 1) / 2), 6, fontsize=7.5, color=MID)
        start = row


CELL = 0.25
SPACE = 0.8
SHELL_WIDTH = 1.3  # inches that a shell's title takes
FILL = {"pass": "#3a3a3a", "fail": PAPER, "refusal": "#e8e8e8", "no-command": "#e8e8e8"}
LETTER = {"refusal": "R", "no-command": "F", "missing": "·", "not-measured": "–"}
_MARKS = ("pass", "fail", "refusal", "no-command", "missing", "not-measured")
MARK_NAMES = {mark: mark.replace("-", " ") for mark in _MARKS}


def draw_cells(analysis: Analysis, model: ModelAnalysis) -> Drawing | None:
    """The grid task x (shell x trial); None if nothing was measured."""
    seen = Counter(mark for marks in model.marks.values() for mark in marks)
    if not seen.keys() - {"missing", "not-measured"}:
        return None
    trials, tasks = analysis.trials, analysis.tasks
    left = text_width(list(tasks)) + 0.2
    shells = list(model.outcomes.by_shell)
    columns = len(shells) * trials + (len(shells) - 1) * SPACE
    least = len(shells) * SHELL_WIDTH
    wide = max(columns * CELL, least)
    legend = 0.3 + sum(1.7 * CELL + text_width([MARK_NAMES[mark]], 7.5) for mark in seen)
    figure, axes = new_axes(max(left + wide + 0.3, legend), 1.4 + CELL * len(tasks), (left, 0.55, 0.3, 0.85))
    axes.set_xlim(0, wide / CELL)
    axes.set_ylim(len(tasks), 0)
    places: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for block, shell in enumerate(shells):
        shift = block * (trials + SPACE) + block * max(0.0, least / CELL - columns) / len(shells)
        axes.text(shift, -0.95 if trials > 1 else -0.35, SHELLS[shell].title, fontsize=8.5, va="bottom")
        for trial in range(trials):
            if trials > 1:
                axes.text(shift + trial + 0.5, -0.25, str(trial + 1), fontsize=6.5, ha="center", va="bottom", color=MID)
            for row, task in enumerate(tasks):
                places[model.marks[task, shell][trial]].append((shift + trial + 0.5, row + 0.5))
    _boxes(axes, places)
    label_rows(axes, tasks, 0.5)
    axes.set_xticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    _mark_legend(figure, seen)
    total = sum(seen.values())
    counts = ", ".join(f"{seen[mark]} {MARK_NAMES[mark]}" for mark in MARK_NAMES if seen[mark])
    alt = (
        f"Every trial of {model.model}, by task, shell and trial: {counts}, of {total}. The table above has the marks."
    )
    return _model_drawing("cells", "Trials", model, figure, alt)


def _boxes(axes: Axes, places: dict[str, list[tuple[float, float]]], scale: float = 1.0) -> None:
    """Boxes and marks of each state at their centres: a handful of collections, however many trials there are."""
    side = (CELL * 72 * 0.88 * scale) ** 2
    for mark, centres in places.items():
        x, y = zip(*centres, strict=True)
        edge = MID if mark in FILL else LIGHT
        axes.scatter(x, y, s=side, marker="s", facecolor=FILL.get(mark, PAPER), edgecolor=edge, linewidth=0.6)
        if mark == "pass":
            axes.scatter(x, y, s=25 * scale, marker="o", facecolor=PAPER, linewidth=0)
        elif mark == "fail":
            axes.scatter(x, y, s=25 * scale, marker="o", facecolor=PAPER, edgecolor=INK, linewidth=0.9)
        else:
            for centre in centres:
                axes.text(*centre, LETTER[mark], ha="center", va="center_baseline", fontsize=8, color=INK)


def _mark_legend(figure: Figure, seen: Counter[str]) -> None:
    width, height = figure.get_figwidth() - 0.2, 0.4
    axes = figure.add_axes(
        (0.1 / figure.get_figwidth(), 0, width / figure.get_figwidth(), height / figure.get_figheight())
    )
    axes.set_xlim(0, width / CELL)
    axes.set_ylim(height / CELL, 0)
    axes.axis("off")
    x = 0.0
    for mark, name in MARK_NAMES.items():
        if seen[mark]:
            _boxes(axes, {mark: [(x + 0.5, 0.6)]}, 0.9)
            axes.text(x + 1.2, 0.65, name, va="center", fontsize=7.5)
            x += 1.7 + text_width([name], 7.5) / CELL


BASELINE_LINE, CHALLENGER_LINE = (MID, (0, (4.0, 2.0))), (INK, "-")
FURTHER_LINE = (MID, (0, (1.0, 1.5)))


def draw_times(model: ModelAnalysis, rows: pd.DataFrame) -> Drawing | None:
    """Empirical distribution of t_exec by shell, passing runs only; None if none has a time."""
    passed = rows[(rows["status"] == "measured") & rows["passed"].eq(True).fillna(False)]
    values = {}
    for shell in model.outcomes.by_shell:
        taken = passed.loc[passed["shell"] == shell, "t_exec_s"].dropna().to_numpy(dtype=float)
        if (taken > 0).any():
            values[shell] = np.sort(taken[taken > 0])
    if not values:
        return None
    legend = 0.17 * ((len(values) - 1) // 2)  # inches of its rows beyond the first, two shells a row
    figure, axes = new_axes(5.6, 2.7 + legend, (0.65, 0.5, 0.3, 0.55 + legend))
    axes.set_xscale("log")
    lines = dict(zip(model.outcomes.contrast, (BASELINE_LINE, CHALLENGER_LINE), strict=True))
    for shell, taken in values.items():
        colour, dashes = lines.get(shell, FURTHER_LINE)
        label = f"{SHELLS[shell].title} ({len(taken)} passing runs)"
        axes.ecdf(taken, label=label, linewidth=1.6, color=colour, linestyle=dashes)
    low, high = min(v[0] for v in values.values()), max(v[-1] for v in values.values())
    axes.set_xlim(low / 1.6, high * 1.6)
    decades = [base * 10.0**power for power in range(-4, 4) for base in (1, 2, 5)]
    ticks = [tick for tick in decades if low / 1.6 <= tick <= high * 1.6]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    axes.grid(axis="both", color=LIGHT, linewidth=0.5)
    axes.set_xlabel("t_exec, seconds (log scale)")
    axes.set_ylabel("runs done, %")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncol=2, frameon=False, borderaxespad=0.1, fontsize=8)
    alt = f"Distribution of the time of the command alone for {model.model}, passing runs. " + " ".join(
        f"{SHELLS[shell].title}: {len(taken)} runs, median {seconds(float(np.median(taken)))}, "
        f"longest {seconds(float(taken[-1]))}."
        for shell, taken in values.items()
    )
    return _model_drawing("times", "Times", model, figure, alt, top=0.2)
