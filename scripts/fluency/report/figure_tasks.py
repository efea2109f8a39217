"""Pass rate of every task in both shells: a hollow ring for Bash, a filled diamond for PowerShell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from fluency.analysis import Analysis, ModelAnalysis
from fluency.report.canvas import INK, LIGHT, MID, PAPER, Drawing, label_rows, sheet, text_width, to_svg

ROW = 0.25
SHIFT = 0.13
TITLES = ("Bash", "PowerShell")


def draw_tasks(analysis: Analysis, model: ModelAnalysis) -> Drawing | None:
    """Paired dots per task, by category and then by rate; None if nothing was measured."""
    rates = {task: _rates(model, place) for place, task in enumerate(analysis.tasks)}
    if not any(_any(pair) for pair in rates.values()):
        return None
    order = {category: place for place, category in enumerate(dict.fromkeys(analysis.categories.values()))}
    tasks = sorted(
        analysis.tasks,
        key=lambda task: (order[analysis.categories[task]], -sum(rate or 0 for rate in rates[task]), task),
    )
    left = text_width(list(tasks)) + 0.2
    right = max(0.5, text_width(list(order), 7.5) + 0.15)
    figure, axes = sheet(left + 3.9 + right, 1.25 + ROW * len(tasks), (left, 0.5, right, 0.75))
    axes.set_xlim(-4, 104)
    axes.set_ylim(len(tasks) - 0.4, -0.6)
    _dots(axes, [rates[task] for task in tasks])
    _categories(axes, [analysis.categories[task] for task in tasks])
    label_rows(axes, tasks)
    axes.set_xticks([0, 20, 40, 60, 80, 100])
    axes.set_xlabel(f"trials passed, % (of {model.outcomes.trials} at most)")
    axes.spines["left"].set_visible(False)
    marks = [
        axes.plot([], [], marker="o", linestyle="", markersize=6.5, markerfacecolor=PAPER, markeredgecolor=INK)[0],
        axes.plot([], [], marker="D", linestyle="", markersize=5, color=INK)[0],
    ]
    shown = [
        (mark, title)
        for mark, title, rate in zip(marks, TITLES, zip(*rates.values(), strict=True), strict=True)
        if _any(rate)
    ]
    axes.legend(
        *zip(*shown, strict=True), loc="lower left", bbox_to_anchor=(0, 1.0), ncol=2, frameon=False, borderaxespad=0.1
    )
    figure.text(0.1 / figure.get_figwidth(), 1 - 0.25 / figure.get_figheight(), model.model, weight="bold")
    ahead = [sum((b or 0) < (p or 0) for b, p in rates.values() if None not in (b, p))]
    ahead.append(sum((b or 0) > (p or 0) for b, p in rates.values() if None not in (b, p)))
    both = sum(None not in pair for pair in rates.values())
    level = (
        f"Of {both} tasks measured in both, PowerShell is ahead on {ahead[0]}, Bash on {ahead[1]}, "
        f"{both - sum(ahead)} are level."
        if both
        else f"Only {' and '.join(title for _, title in shown)} was measured."
    )
    alt = f"Pass rate of each task in both shells for {model.model}. {level} The table above holds the numbers."
    name = f"tasks-{model.model}.svg"
    return Drawing("tasks", model.model, name, to_svg(figure, f"Tasks, {model.model}", alt), alt)


def _any(values: Iterable[float | None]) -> bool:
    return any(value is not None for value in values)


def _rates(model: ModelAnalysis, place: int) -> tuple[float | None, float | None]:
    pair = []
    for shell in ("bash", "pwsh"):
        arm = model.outcomes.arm(shell)
        pair.append(100 * arm.passes[place] / arm.scored[place] if arm.scored[place] else None)
    return pair[0], pair[1]


def _dots(axes: Axes, pairs: Sequence[tuple[float | None, float | None]]) -> None:
    """Rules, lines, diamonds and rings of all rows; the ring lies over the diamond where both coincide."""
    axes.hlines(range(len(pairs)), -4, 104, color=LIGHT, linewidth=0.5, zorder=0)
    rows = list(enumerate(pairs))
    lines = [[(b, row - SHIFT), (p, row + SHIFT)] for row, (b, p) in rows if b is not None and p is not None]
    axes.add_collection(LineCollection(lines, color=MID, linewidth=1.3, zorder=1))
    pwsh = [(p, row + SHIFT) for row, (_, p) in rows if p is not None]
    axes.scatter(*_columns(pwsh), s=25, marker="D", color=INK, linewidth=0.8, zorder=2)
    bash = [(b, row - SHIFT) for row, (b, _) in rows if b is not None]
    axes.scatter(*_columns(bash), s=36, marker="o", facecolor=PAPER, edgecolor=INK, linewidth=1.2, zorder=3)


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
