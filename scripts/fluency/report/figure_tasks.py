"""Pass rate of every task in each arm: a hollow ring for the baseline, a filled diamond for the challenger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.shells import SHELLS
from fluency.report.canvas import INK, LIGHT, MID, PAPER, Drawing, label_rows, sheet, text_width, to_svg
from fluency.report.wording import listed

ROW = 0.25
SHIFT = 0.13
Rates = Mapping[str, float | None]
"""Per cent by shell; None where nothing was measured."""


class Mark(NamedTuple):
    """How an arm's rates are drawn: shape, area and outline in points, size in the legend, fill."""

    shape: str
    area: float
    outline: float
    in_legend: float
    fill: str


BASELINE = Mark("o", 36, 1.2, 6.5, PAPER)
CHALLENGER = Mark("D", 25, 0.8, 5, INK)
FURTHER = (Mark("^", 30, 0.8, 6, LIGHT), Mark("s", 25, 0.8, 5, LIGHT), Mark("v", 30, 0.8, 6, LIGHT))


def draw_tasks(analysis: Analysis, model: ModelAnalysis) -> Drawing | None:
    """Dots of all arms per task, by category and then by rate; None if nothing was measured."""
    rates = {task: _rates(model, place) for place, task in enumerate(analysis.tasks)}
    if not any(_any(by_shell.values()) for by_shell in rates.values()):
        return None
    contrast = model.outcomes.contrast
    order = {category: place for place, category in enumerate(dict.fromkeys(analysis.categories.values()))}
    tasks = sorted(
        analysis.tasks,
        key=lambda task: (order[analysis.categories[task]], -sum(rates[task][shell] or 0 for shell in contrast), task),
    )
    left = text_width(list(tasks)) + 0.2
    right = max(0.5, text_width(list(order), 7.5) + 0.15)
    figure, axes = sheet(left + 3.9 + right, 1.25 + ROW * len(tasks), (left, 0.5, right, 0.75))
    axes.set_xlim(-4, 104)
    axes.set_ylim(len(tasks) - 0.4, -0.6)
    marks = _marks(model)
    _dots(axes, [rates[task] for task in tasks], marks, contrast)
    _categories(axes, [analysis.categories[task] for task in tasks])
    label_rows(axes, tasks)
    axes.set_xticks([0, 20, 40, 60, 80, 100])
    axes.set_xlabel(f"trials passed, % (of {model.outcomes.trials} at most)")
    axes.spines["left"].set_visible(False)
    shown = [shell for shell in marks if _any(by_shell[shell] for by_shell in rates.values())]
    _legend(axes, marks, shown)
    figure.text(0.1 / figure.get_figwidth(), 1 - 0.25 / figure.get_figheight(), model.model, weight="bold")
    alt = (
        f"Pass rate of each task in {'both' if len(marks) == 2 else 'all'} shells for {model.model}. "
        f"{_standing(list(rates.values()), contrast, shown)} The table above holds the numbers."
    )
    name = f"tasks-{model.model}.svg"
    return Drawing("tasks", model.model, name, to_svg(figure, f"Tasks, {model.model}", alt), alt)


def _any(values: Iterable[float | None]) -> bool:
    return any(value is not None for value in values)


def _rates(model: ModelAnalysis, place: int) -> Rates:
    return {
        shell: 100 * arm.passes[place] / arm.scored[place] if arm.scored[place] else None
        for shell, arm in model.outcomes.arms.items()
    }


def _marks(model: ModelAnalysis) -> dict[str, Mark]:
    roles = dict(zip(model.outcomes.contrast, (BASELINE, CHALLENGER), strict=True))
    further = cycle(FURTHER)
    return {shell: roles.get(shell) or next(further) for shell in model.outcomes.arms}


def _standing(rates: Sequence[Rates], contrast: tuple[str, str], shown: Sequence[str]) -> str:
    """On how many tasks which of the contrasted arms is ahead, in a sentence."""
    pairs = [(by_shell[contrast[0]], by_shell[contrast[1]]) for by_shell in rates]
    both = [(b, c) for b, c in pairs if b is not None and c is not None]
    if not both:
        return f"Only {listed([SHELLS[shell].short_title for shell in shown])} was measured."
    ahead, behind = sum(c > b for b, c in both), sum(c < b for b, c in both)
    baseline, challenger = (SHELLS[shell].short_title for shell in contrast)
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
            *_columns(list(places[shell].values())),
            s=mark.area,
            marker=mark.shape,
            facecolor=mark.fill,
            edgecolor=INK,
            linewidth=mark.outline,
            zorder=3 if shell == contrast[0] else 2,
        )


def _legend(axes: Axes, marks: Mapping[str, Mark], shown: Sequence[str]) -> None:
    drawn = {
        shell: axes.plot(
            [],
            [],
            marker=mark.shape,
            linestyle="",
            markersize=mark.in_legend,
            markerfacecolor=mark.fill,
            markeredgecolor=INK,
        )[0]
        for shell, mark in marks.items()
    }
    axes.legend(
        [drawn[shell] for shell in shown],
        [SHELLS[shell].short_title for shell in shown],
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncol=len(marks),
        frameon=False,
        borderaxespad=0.1,
    )


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _categories(axes: Axes, categories: list[str]) -> None:
    start = 0
    for row in range(1, len(categories) + 1):
        if row < len(categories) and categories[row] == categories[start]:
            continue
        if row < len(categories):
            axes.axhline(row - 0.5, color=MID, linewidth=0.7)
        axes.annotate(
            categories[start],
            (1.0, (start + row - 1) / 2),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=MID,
        )
        start = row
