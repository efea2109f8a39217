"""The rows of the report's table on limits: who met one, and what was used."""

from __future__ import annotations

from collections.abc import Callable

from fluency.analysis.descriptive import Most
from fluency.analysis.study_analysis import ModelAnalysis
from fluency.core.shells import SHELLS
from fluency.report.markdown import table
from fluency.report.numbers import seconds

LIMITS = (
    "arm",
    "executed",
    "past the deadline",
    "resource limits",
    "output cut",
    "memory, MB",
    "CPU time",
    "processes",
    "written, MB",
)


def limits_table(model: ModelAnalysis) -> str:
    """What the commands of each arm used of their limits."""
    return table(LIMITS, _limits(model), "lrrrrrrrr")


def _limits(model: ModelAnalysis) -> list[list[object]]:
    """One row an arm: cells that met a limit, then median and largest of what was used."""
    rows = []
    for shell, arm in model.resources.items():
        if not arm.executed:
            rows.append([SHELLS[shell].title, 0, *["n/a"] * (len(LIMITS) - 2)])
            continue
        used = [_used(arm.memory_bytes, _mb), _used(arm.cpu_s, seconds), _used(arm.processes, "{:.0f}".format)]
        numbers = [arm.executed, arm.timed_out, arm.limited, arm.truncated]
        rows.append([SHELLS[shell].title, *numbers, *used, _used(arm.written_bytes, _mb)])
    return rows


def _used(most: Most | None, shown: Callable[[float], str]) -> str:
    return "n/a" if most is None else f"{shown(most.median)}, most {shown(most.largest)}"


def _mb(value: float) -> str:
    return f"{value / 2**20:.1f}" if value < 10 << 20 else f"{value / 2**20:.0f}"
