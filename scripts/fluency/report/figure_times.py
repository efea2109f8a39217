"""How long the commands that passed took, alone: the only time that can see the shell."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fluency.analysis.study_analysis import ModelAnalysis
from fluency.core.shells import SHELLS
from fluency.report.canvas import INK, LIGHT, MID, Drawing, sheet, to_svg
from fluency.report.numbers import seconds

BASELINE, CHALLENGER = (MID, (0, (4.0, 2.0))), (INK, "-")
FURTHER = (MID, (0, (1.0, 1.5)))


def draw_times(model: ModelAnalysis, rows: pd.DataFrame) -> Drawing | None:
    """Empirical distribution of t_exec by shell, passing runs only; None if none has a time."""
    passed = rows[(rows["status"] == "measured") & rows["passed"].eq(True).fillna(False)]
    values = {}
    for shell in model.outcomes.arms:
        taken = passed.loc[passed["shell"] == shell, "t_exec_s"].dropna().to_numpy(dtype=float)
        if (taken > 0).any():
            values[shell] = np.sort(taken[taken > 0])
    if not values:
        return None
    legend = 0.17 * ((len(values) - 1) // 2)  # inches of its rows beyond the first, two arms a row
    figure, axes = sheet(5.6, 2.7 + legend, (0.65, 0.5, 0.3, 0.55 + legend))
    axes.set_xscale("log")
    lines = dict(zip(model.outcomes.contrast, (BASELINE, CHALLENGER), strict=True))
    for shell, taken in values.items():
        colour, dashes = lines.get(shell, FURTHER)
        label = f"{SHELLS[shell].title} ({len(taken)} passing runs)"
        axes.ecdf(taken, label=label, linewidth=1.6, color=colour, linestyle=dashes)
    low, high = min(v[0] for v in values.values()), max(v[-1] for v in values.values())
    axes.set_xlim(low / 1.6, high * 1.6)
    ticks = [t for t in _ticks() if low / 1.6 <= t <= high * 1.6]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    axes.grid(axis="both", color=LIGHT, linewidth=0.5)
    axes.set_xlabel("t_exec, seconds (log scale)")
    axes.set_ylabel("runs done, %")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncol=2, frameon=False, borderaxespad=0.1, fontsize=8)
    figure.text(0.1 / 5.6, 1 - 0.2 / (2.7 + legend), model.model, weight="bold")
    alt = f"Distribution of the time of the command alone for {model.model}, passing runs. " + " ".join(
        f"{SHELLS[shell].title}: {len(taken)} runs, median {seconds(float(np.median(taken)))}, "
        f"longest {seconds(float(taken[-1]))}."
        for shell, taken in values.items()
    )
    name = f"times-{model.model}.svg"
    return Drawing("times", model.model, name, to_svg(figure, f"Times, {model.model}", alt), alt)


def _ticks() -> list[float]:
    return [base * 10.0**power for power in range(-4, 4) for base in (1, 2, 5)]
