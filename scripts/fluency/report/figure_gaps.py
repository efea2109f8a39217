"""The gap of each model with its intervals, over the bands of the decision table."""

from __future__ import annotations

from math import ceil

from matplotlib.axes import Axes

from fluency.analysis.estimate import GapEstimate
from fluency.analysis.plan import DIRECTION_PP, NOISE_PP
from fluency.analysis.study_analysis import Analysis
from fluency.core.shells import SHELLS
from fluency.report.canvas import INK, LIGHT, MID, PAPER, Drawing, label_rows, sheet, text_width, to_svg
from fluency.report.numbers import points, signed, span

ROW = 0.55


def draw_gaps(analysis: Analysis) -> Drawing | None:
    """A forest of gaps; None if no model has one."""
    gaps = {model.model: model.gap for model in analysis.models if model.gap}
    if not gaps:
        return None
    baseline, challenger = (SHELLS[shell].short_title for shell in analysis.contrast)
    reach = max(abs(100 * edge) for gap in gaps.values() for edge in (*gap.s95, float(gap.value)))
    limit = min(100, max(20, 5 * ceil((reach + 3) / 5)))
    left = max(0.9, text_width(list(gaps)) + 0.25)
    figure, axes = sheet(left + 4.6 + 1.75, 1.55 + ROW * len(gaps), (left, 0.62, 1.75, 0.85))
    axes.set_xlim(-limit, limit)
    axes.set_ylim(len(gaps) - 0.5, -0.5)
    _bands(axes, limit, baseline, challenger)
    for row, gap in enumerate(gaps.values()):
        _row(axes, row, gap)
    label_rows(axes, list(gaps))
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"gap on pass@1, percentage points (right: {challenger} ahead)")
    legend = "◆ gap · thick 90 %, thin 95 %: tasks like these · grey bar 95 %: these tasks"
    if any(gap.claims.edge for gap in gaps.values()):
        legend += " · ◇ dashed: tasks that cannot tell"
    figure.text(left / figure.get_figwidth(), 0.06 / figure.get_figheight(), legend, fontsize=7.5, color=MID)
    alt = f"Gap on pass@1 per model, {challenger} less {baseline}, over the bands of the decision table. " + " ".join(
        f"{model}: {_no_room(gap)}{signed(gap.value)} points, 95 % for tasks like these {span(gap.s95)}, "
        + ("on these tasks undefined." if gap.fixed is None else f"on these tasks ±{points(gap.fixed)}.")
        for model, gap in gaps.items()
    )
    return Drawing("gaps", "", "gaps.svg", to_svg(figure, "Gaps over the decision table", alt), alt)


def _no_room(gap: GapEstimate) -> str:
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


def _row(axes: Axes, row: int, gap: GapEstimate) -> None:
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
    axes.annotate(
        note, (1.0, row), xycoords=("axes fraction", "data"), xytext=(8, 0), textcoords="offset points", va="center"
    )
