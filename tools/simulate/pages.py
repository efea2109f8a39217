"""The pages that show simulated figures: docs/simulations.md whole, marked places of others, and the package's own.

A marked place reads `<!-- simulated: name -->`, its text, `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fluency.analysis.power import MEASURES, scenario_variance, set_rows
from fluency.analysis.scenarios import SCENARIOS
from fluency.common.paths import ROOT
from fluency.core.tasks import task_sets
from fluency.report.markdown import table
from tools.simulate.figures import AHEAD, BY_TEN, NO_DIFFERENCE, TABLES

FIGURES = Path(__file__).with_name("figures.json")
ALL = ROOT / "docs" / "simulations.md"
MARKED = (ROOT / "docs" / "method.md",)
CONSTANTS = ROOT / "scripts" / "fluency" / "analysis" / "simulated.py"
PLACE = re.compile(r"(<!-- simulated: ([\w-]+) -->\n).*?(<!-- end -->)", re.S)

Found = dict[str, list[dict[str, Any]]]


def write_pages() -> None:
    """Write every page from the figures."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


def pages() -> dict[Path, str]:
    """Each page as it has to read."""
    found = {name: part["rows"] for name, part in json.loads(FIGURES.read_text(encoding="utf-8")).items()}
    written = {ALL: _all(found), CONSTANTS: _constants(found)}
    for path in MARKED:
        written[path] = PLACE.sub(lambda m: m[1] + BLOCKS[m[2]](found) + "\n" + m[3], path.read_text(encoding="utf-8"))
    return written


def span(values: Iterable[float | None], digits: int = 0) -> str:
    """`34 to 53 %` of shares of one."""
    known = [100 * value for value in values if value is not None]
    low, high = (f"{edge:.{digits}f}" for edge in (min(known), max(known)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def of(rows: list[dict[str, Any]], key: str, **where: object) -> list[float]:
    """A column of the rows that have these values."""
    return [row[key] for row in rows if all(row[name] == value for name, value in where.items())]


def _rows(found: Found) -> str:
    keys = ("challenger", "inconclusive", "falsified", "baseline", "resolved direction", "resolved noise")
    rows = [
        [f"{100 * gap:.0f}", *(span(of(found["design"], key, gap=gap)) for key in keys)]
        for gap in (0.0, 0.05, 0.10, 0.20)
    ]
    heads = ["PowerShell", "hole", "noise", "Bash", "a direction, resolved", "noise, resolved"]
    return table(["true gap", *heads], rows, "r" * 7)


def _widths(found: Found) -> str:
    at0 = {key: of(found["design"], key, gap=0.0) for key in ("half-width S", "half-width F")}
    s, f = (span(at0[key]).replace(" %", " points") for key in at0)
    return f"With 20 tasks and 5 trials, expect a half-width of {s} for S and of {f} for F (medians, by scenario)."


def _false(found: Found) -> str:
    wrong, noise = (span(of(found["design"], f"resolved {key}", gap=0.0), 1) for key in ("false direction", "noise"))
    return (
        f"At a true gap of zero, {wrong} of studies show a resolved false direction, and {noise} show resolved noise: "
        "**20 tasks cannot show that there is no difference.**"
    )


def _sizes(found: Found) -> str:
    questions = (AHEAD, BY_TEN, NO_DIFFERENCE)
    gaps = {row["question"]: round(100 * row["gap"]) for row in found["sizes"]}
    rows = [
        [
            f"{name}: {scenario.words}",
            *(_tasks(of(found["sizes"], "tasks", scenario=name, question=q)[0]) for q in questions),
        ]
        for name, scenario in SCENARIOS.items()
    ]
    return table(["scenario", *(f"{q} (true gap {gaps[q]})" for q in questions)], rows, "lrrr")


def _tasks(count: float | None) -> str:
    return "beyond it" if count is None else f"{count:.0f}"


def _intervals(found: Found) -> str:
    rows = [
        ["paired t over tasks (the report's)", span(of(found["design"], "t covers"))],
        ["the same with a floor (two pseudo-tasks)", span(of(found["design"], "floored covers"))],
        ["all runs of an arm as independent", span(of(found["design"], "runs independent cover"))],
        ["percentile bootstrap over tasks", span(of(found["resampling"], "percentile"))],
        ["bias-corrected bootstrap over tasks", span(of(found["resampling"], "BCa"))],
        ["on these tasks (F), of the gap on these tasks", span(of(found["design"], "F covers"))],
    ]
    return table(["nominal 95 % interval", "covers the true gap"], rows, "lr")


def _levels(found: Found) -> str:
    rows = [
        [words, span(of(found["design"], f"{key} rejects", gap=0.0))]
        for words, key in (
            ("sign-flip over tasks (the report's)", "sign-flip"),
            ("paired t over tasks", "t"),
            ("McNemar over runs", "McNemar"),
            ("Mantel-Haenszel over runs, stratified by task", "stratified"),
        )
    ]
    return table(["test at 5 %", "rejects a true gap of 0"], rows, "lr")


def _survives(found: Found) -> str:
    low, high = (span(of(found["design"], "survives", gap=gap)) for gap in (0.0, 0.10))
    return (
        f"With 20 tasks the row of the table survives all 20 deletions in {low} of studies at a true gap of 0 and in "
        f"{high} at 10, so a change is normal and worth knowing."
    )


def _shares(found: Found) -> str:
    rows = [
        [row["scenario"], row["share"], row["studies"], span([row["right"]])] for row in found["shares_of_resamples"]
    ]
    return table(["scenario", "share of resamples in a row", "cases", "the true gap was in that row"], rows, "lrrr")


def _weak(found: Found) -> str:
    rows = [
        [
            row["place"],
            f"{100 * row['gap']:.0f}",
            *(span([row[key]]) for key in ("t covers", "floored covers", "wrongly ahead")),
        ]
        for row in found["weak_places"]
    ]
    return table(["where", "true gap", "paired t covers", "with the floor", "says wrongly who is ahead"], rows, "lrrrr")


def _floor(found: Found) -> str:
    wider = [row["half-width floored"] / row["half-width S"] - 1 for row in found["design"]]
    plain, floored = (span(of(found["weak_places"], f"{key} covers")) for key in ("t", "floored"))
    return (
        f"In these places the t interval covers {plain} and the floored one {floored}; in the scenarios it "
        f"is {-100 * min(wider):.0f} % narrower to {100 * max(wider):.0f} % wider (medians)."
    )


def _room(found: Found) -> str:
    columns = {
        "reads noise": "reads noise",
        "reads a direction": "reads a direction",
        "cannot tell": "cannot tell",
        "ahead": "who is ahead is said",
    }
    rows = []
    for row in found["no_room"]:
        passes, gap = f"{100 * row['baseline']:.1f} %", f"{100 * row['gap'] + 0:.1f}"
        rows.append([f"{row['effect']:g}", passes, gap, *(span([row[key]]) for key in columns)])
    return table(["log odds moved by", "Bash passes", "true gap", *columns.values()], rows, "r" * 7)


def _stopping(found: Found) -> str:
    rows = [
        [f"{row['scenario']}, {row['tasks']}", *(span([row[key]], 1) for key in ("first", "last", "any"))]
        for row in found["optional_stopping"]
    ]
    return table(["true gap 0", "p ≤ 0.05 at 5 trials", "at 20", "at any of 5, 10, 15, 20"], rows, "lrrr")


def _sets(found: Found) -> str:
    """By formula, which the simulated sizes agree with (tests/analysis/test_power.py)."""
    sizes = {name: len(chosen.tasks) for name, chosen in task_sets().items()}
    sources = [(name, scenario_variance(scenario)) for name, scenario in SCENARIOS.items()]
    return table(["scenario", "set", "tasks", *MEASURES], set_rows(sources, sizes, 5), "llrrrr")


BLOCKS: dict[str, Callable[[Found], str]] = {
    "rows": _rows,
    "widths": _widths,
    "false": _false,
    "sizes": _sizes,
    "intervals": _intervals,
    "levels": _levels,
    "survives": _survives,
    "shares": _shares,
    "weak": _weak,
    "floor": _floor,
    "room": _room,
    "stopping": _stopping,
    "sets": _sets,
}


def _constants(found: Found) -> str:
    design = found["design"]
    false = [b + c for b, c in zip(of(design, "baseline", gap=0.0), of(design, "challenger", gap=0.0), strict=True)]
    texts = {
        "NOISE_AT_0": (
            span(of(design, "falsified", gap=0.0)),
            "Studies of a true gap of 0 that the table reads as noise.",
        ),
        "FALSE_DIRECTION_AT_0": (span(false), "Those that it reads as a direction."),
        "SURVIVES": (span(of(design, "survives", gap=0.0)), "Those whose row survives every deletion of a task."),
        "SURVIVES_AT_10": (span(of(design, "survives", gap=0.10)), "The same at a true gap of 10 points."),
        "SHARES_RIGHT": (
            span(of(found["shares_of_resamples"], "right", share="0.8 to 0.9")),
            "How often a share of resamples of 80 to 90 % named the true row.",
        ),
        "STOPPING": (
            span([max(of(found["optional_stopping"], "any"))]),
            "The most that looking at 5, 10, 15 and 20 trials rejects a true gap of 0.",
        ),
    }
    lines = [f'{name} = "{value}"\n"""{words}"""' for name, (value, words) in texts.items()]
    questions = (AHEAD, BY_TEN, NO_DIFFERENCE)
    tasks = {
        name: tuple(of(found["sizes"], "tasks", scenario=name, question=question)[0] for question in questions)
        for name in SCENARIOS
    }
    return "\n".join(
        [
            '"""Simulated figures that the report and `make power` print; `make simulate` writes this file."""',
            "",
            "from __future__ import annotations",
            "",
            *lines,
            "SAMPLE_SIZES: dict[str, tuple[int | None, int | None, int | None]] = {",
            *(f'    "{name}": {sizes},' for name, sizes in tasks.items()),
            "}",
            '"""Scenario -> tasks of 5 trials at which 80 % of studies say who is ahead (of a true gap of 10),',
            'that it is 10 or more (of 20), that there is no difference (of 0); None: more than the scenario holds."""',
            "",
        ]
    )


def _all(found: Found) -> str:
    parts = [
        "# Simulations",
        "Written by `make simulate` (seeded, about five minutes): simulated studies of the scenarios in "
        "[method.md](method.md), 20 tasks and 5 trials where nothing else is said. Shares and points are of one. "
        "With 2,000 studies a share of 50 % is known to ±2.2 points and one of 5 % to ±1, with 4,000 to ±1.5 and ±0.7.",
    ]
    for name, rows in found.items():
        keys = list(rows[0])
        parts += [
            f"## {name.replace('_', ' ').capitalize()}",
            (TABLES[name][0].__doc__ or "").strip() + f" {TABLES[name][1]:,} studies a row.",
            table(keys, [[_plain(row[key]) for key in keys] for row in rows], "l" + "r" * (len(keys) - 1)),
        ]
    return "\n\n".join(parts) + "\n"


def _plain(value: object) -> str:
    return "n/a" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
