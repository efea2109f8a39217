"""Every trial of every task in every shell as one mark: ceilings, floors, flakiness and outages at a glance."""

from __future__ import annotations

from collections import Counter, defaultdict

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.shells import SHELLS
from fluency.report.canvas import INK, LIGHT, MID, PAPER, Drawing, label_rows, sheet, text_width, to_svg

CELL = 0.25
SPACE = 0.8
ARM = 1.3  # inches that a shell's title takes
FILL = {"pass": "#3a3a3a", "fail": PAPER, "refusal": "#e8e8e8", "no-command": "#e8e8e8"}
LETTER = {"refusal": "R", "no-command": "F", "missing": "·", "not-measured": "–"}
NAMES = {
    "pass": "pass",
    "fail": "fail",
    "refusal": "refusal",
    "no-command": "no command",
    "missing": "missing",
    "not-measured": "not measured",
}


def draw_cells(analysis: Analysis, model: ModelAnalysis) -> Drawing | None:
    """The grid task x (shell x trial); None if nothing was measured."""
    seen = Counter(mark for marks in model.marks.values() for mark in marks)
    if not seen.keys() - {"missing", "not-measured"}:
        return None
    trials, tasks = analysis.trials, analysis.tasks
    left = text_width(list(tasks)) + 0.2
    shells = list(model.outcomes.arms)
    columns = len(shells) * trials + (len(shells) - 1) * SPACE
    least = len(shells) * ARM
    wide = max(columns * CELL, least)
    legend = 0.3 + sum(1.7 * CELL + text_width([NAMES[mark]], 7.5) for mark in seen)
    figure, axes = sheet(max(left + wide + 0.3, legend), 1.4 + CELL * len(tasks), (left, 0.55, 0.3, 0.85))
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
    _draw(axes, places)
    label_rows(axes, tasks, 0.5)
    axes.set_xticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.text(0.1 / figure.get_figwidth(), 1 - 0.25 / figure.get_figheight(), model.model, weight="bold")
    _legend(figure, seen)
    total = sum(seen.values())
    counts = ", ".join(f"{seen[mark]} {NAMES[mark]}" for mark in NAMES if seen[mark])
    alt = (
        f"Every trial of {model.model}, by task, shell and trial: {counts}, of {total}. The table above has the marks."
    )
    name = f"cells-{model.model}.svg"
    return Drawing("cells", model.model, name, to_svg(figure, f"Trials, {model.model}", alt), alt)


def _draw(axes: Axes, places: dict[str, list[tuple[float, float]]], scale: float = 1.0) -> None:
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


def _legend(figure: Figure, seen: Counter[str]) -> None:
    width, height = figure.get_figwidth() - 0.2, 0.4
    axes = figure.add_axes(
        (0.1 / figure.get_figwidth(), 0, width / figure.get_figwidth(), height / figure.get_figheight())
    )
    axes.set_xlim(0, width / CELL)
    axes.set_ylim(height / CELL, 0)
    axes.axis("off")
    x = 0.0
    for mark, name in NAMES.items():
        if seen[mark]:
            _draw(axes, {mark: [(x + 0.5, 0.6)]}, 0.9)
            axes.text(x + 1.2, 0.65, name, va="center", fontsize=7.5)
            x += 1.7 + text_width([name], 7.5) / CELL
