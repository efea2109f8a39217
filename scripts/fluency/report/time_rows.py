"""The report's tables of time: how long runs took, and whether anything drifted while they were asked."""

from __future__ import annotations

from fluency.analysis.study_analysis import ModelAnalysis
from fluency.analysis.times import Quartiles
from fluency.core.shells import SHELLS
from fluency.report.escape import text
from fluency.report.markdown import table
from fluency.report.numbers import seconds

TIMES = (
    "arm",
    "passes",
    "T_run, median (quartiles)",
    "t_exec, median (quartiles)",
    "T_first, restricted mean, same tasks",
    "ERT, median task",
    "tasks never passed",
)


def time_table(model: ModelAnalysis) -> str:
    """The three times of each arm."""
    rows = []
    for shell in model.tallies:
        arm = model.times.arms[shell]
        rows.append(
            [
                SHELLS[shell].title,
                f"{arm.passes}/{arm.scored}" if arm.scored else "not measured",
                _quartiles(arm.t_run),
                _quartiles(arm.t_exec),
                f"{seconds(arm.t_first)} ({arm.first_tasks} tasks)" if arm.t_first is not None else "n/a",
                seconds(arm.expected),
                f"{arm.never_passed}/{arm.tasks}" if arm.tasks else "n/a",
            ]
        )
    return table(TIMES, rows, "lrrrrrr")


def drift_table(model: ModelAnalysis) -> str:
    """Passes and median time of generation of each arm, by stretches of the time of asking."""
    arms = [f"{SHELLS[shell].title}, {what}" for shell in model.tallies for what in ("passes", "t_gen")]
    rows = []
    for stretch in model.drift:
        row = [text(f"{stretch.first_utc[:16]} to {stretch.last_utc[:16]}")]
        for arm in stretch.arms.values():
            row += [f"{arm.passes}/{arm.scored}", seconds(arm.t_gen)]
        rows.append(row)
    return table(["answered, UTC", *arms], rows, "l" + "r" * len(arms))


def _quartiles(spread: Quartiles | None) -> str:
    return f"{seconds(spread.median)} ({seconds(spread.low)} to {seconds(spread.high)})" if spread else "n/a"
