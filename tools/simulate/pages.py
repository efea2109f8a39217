"""Where simulated figures are shown: one page of tables, and the package's own constants."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fluency.analysis.power import (
    SET_HEADS,
    SIZE_HEADS,
    outlook,
    scenario_spreads,
    set_rows,
    size_rows,
)
from fluency.analysis.scenarios import SCENARIOS
from fluency.common.paths import ROOT
from fluency.core.tasks import task_sets
from fluency.report.markdown import table

FIGURES = Path(__file__).with_name("figures.json")
PAGE = ROOT / "docs" / "figures.md"
CONSTANTS = ROOT / "scripts" / "fluency" / "analysis" / "simulated.py"
Rows = list[dict[str, Any]]


def write_pages() -> None:
    """Write every page from the figures."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


def pages() -> dict[Path, str]:
    """Each page as it has to read."""
    found = json.loads(FIGURES.read_text(encoding="utf-8"))
    rows = {name: part["rows"] for name, part in found.items()}
    return {CONSTANTS: _constants(rows), PAGE: _page(rows, found["claims"]["studies"])}


def span(values: Iterable[float], digits: int = 0) -> str:
    """`34 to 53 %` of shares of one."""
    known = [100 * value for value in values]
    low, high = (f"{edge:.{digits}f}" for edge in (min(known), max(known)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def of(rows: Rows, key: str, **where: object) -> list[float]:
    """A column of the rows that have these values."""
    return [row[key] for row in rows if all(row[name] == value for name, value in where.items())]


def _page(found: dict[str, Rows], count: int) -> str:
    parts = [
        "# Simulated figures",
        "`make simulate` writes this page from `tools/simulate/figures.json`. "
        "[The method](method.md) says what is simulated and why. All with 5 trials.",
        "## Who is ahead, and coverage",
        f"{count} studies a cell. A task's log odds of passing are normal (spread 2); the shell "
        "moves them by an effect with a spread over tasks of 0.5 / 1.5.",
        _claims(found["claims"]),
        "## The decision table and the interval",
        "Over scenarios A to D; *ahead* at a true gap of 0 is wrong.",
        _rows(found["design"]),
        "### The scenarios",
        "A task's true pass rates in the two shells follow Beta distributions, tied by a Gaussian "
        "copula.",
        _scenarios(),
        "## Other methods",
        _others(found["design"]),
        "## How many tasks",
        "By formula, from each scenario's variances; `make power` prints the same from a study's "
        "own results, and so does its report.",
        table(SIZE_HEADS, size_rows(scenario_spreads(5)), "lrr"),
        "What the named sets of tasks can find, in points:",
        _sets(),
        "By the rate at which both shells pass (scenario D with another mean): the gap that is "
        "found 80 % of the time, in points / studies that end with tasks too easy to tell.",
        _outlook(),
    ]
    return "\n\n".join(parts) + "\n"


def _claims(rows: Rows) -> str:
    lines = []
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        pair = (first, second)
        lines.append(
            [
                first["tasks"],
                f"{100 * first['baseline']:.0f} %",
                f"{100 * first['gap']:.0f}",
                *(
                    " / ".join("-" if row[key] is None else f"{100 * row[key]:.0f}" for row in pair)
                    for key in ("ahead", "wrongly ahead", "covers", "too easy or hard")
                ),
            ]
        )
    heads = ["tasks", "Bash passes", "true gap", "ahead found, %", "wrongly ahead, %"]
    return table([*heads, "interval covers, %", "too easy to tell, %"], lines, "r" * 7)


def _scenarios() -> str:
    rows = [[s.name, s.words, s.mean, s.precision, s.tie] for s in SCENARIOS.values()]
    heads = ["scenario", "in words", "Bash passes", "precision", "copula"]
    return table(heads, rows, "llrrr")


def _rows(rows: Rows) -> str:
    keys = ("challenger", "inconclusive", "falsified", "baseline", "ahead", "direction supported")
    keys += ("noise supported", "covers")
    lines = [
        [tasks, f"{100 * gap:.0f}", *(span(of(rows, key, gap=gap, tasks=tasks)) for key in keys)]
        for tasks in dict.fromkeys(row["tasks"] for row in rows)
        for gap in (0.0, 0.05, 0.10, 0.20)
    ]
    heads = ["tasks", "true gap", "PowerShell", "no rule", "noise", "Bash", "ahead"]
    heads += ["direction supported", "noise supported", "interval covers"]
    return table(heads, lines, "r" * len(heads))


def _others(rows: Rows) -> str:
    lines = [
        [words, *(span(of(rows, key, tasks=tasks, **where)) for tasks in (20, 56, 116))]
        for words, key, where in (
            ("the report's interval covers", "covers", {}),
            ("percentile bootstrap over tasks covers", "bootstrap covers", {}),
            ("all runs of a shell as independent: covers", "runs independent cover", {}),
            ("the report's interval excludes a true gap of 0", "ahead", {"gap": 0.0}),
            ("McNemar over runs rejects a true gap of 0", "McNemar rejects", {"gap": 0.0}),
        )
    ]
    return table(["", "20 tasks", "56 tasks", "116 tasks"], lines, "lrrr")


def _sets() -> str:
    sizes = {name: len(chosen.tasks) for name, chosen in task_sets().items()}
    return table(SET_HEADS, set_rows(scenario_spreads(5), sizes), "llrrr")


def _outlook() -> str:
    rates, rows = (0.6, 0.8, 0.9, 0.95), []
    for name, chosen in task_sets().items():
        at = [outlook(rate, len(chosen.tasks), 5) for rate in rates]
        cells = [f"{100 * o.gap:.0f} / {100 * o.cannot_tell:.0f} %" for o in at]
        rows.append([name, len(chosen.tasks), *cells])
    return table(["set", "tasks", *(f"at {100 * rate:.0f} %" for rate in rates)], rows, "lrrrrr")


def _constants(found: dict[str, Rows]) -> str:
    at20 = [row for row in found["design"] if row["tasks"] == 20]
    at0 = [row for row in at20 if row["gap"] == 0.0]
    false = [row["baseline"] + row["challenger"] for row in at0]
    texts = {
        "NOISE_AT_0": (span(of(at0, "falsified")), "of a true gap of 0, read as noise"),
        "FALSE_DIRECTION_AT_0": (span(false), "of a true gap of 0, read as a direction"),
        "SURVIVES": (span(of(at0, "survives")), "whose row survives leaving any task out"),
        "SURVIVES_AT_10": (span(of(at20, "survives", gap=0.10)), "the same at a true gap of 10"),
        "STOPPING": (
            span([max(of(found["optional_stopping"], "any"))]),
            "the most that looking at 5, 10, 15 and 20 trials calls a shell ahead at 0",
        ),
    }
    lines = [f'{name} = "{value}"  # {words}' for name, (value, words) in texts.items()]
    return "\n".join(
        [
            '"""Simulated figures that the report prints; `make simulate` writes this file."""',
            "",
            "from __future__ import annotations",
            "",
            *lines,
            "",
        ]
    )
