"""Where simulated figures are shown: marked places of pages, and the package's own constants.

A marked place reads `<!-- simulated: name -->`, its text, `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fluency.analysis.power import MEASURES, outlook, scenario_variance, set_rows
from fluency.analysis.scenarios import SCENARIOS
from fluency.common.paths import ROOT
from fluency.core.tasks import task_sets
from fluency.report.markdown import table
from tools.simulate.figures import AHEAD, BY_TEN, NO_DIFFERENCE

FIGURES = Path(__file__).with_name("figures.json")
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
    found = {
        name: part["rows"] for name, part in json.loads(FIGURES.read_text(encoding="utf-8")).items()
    }
    written = {CONSTANTS: _constants(found)}
    for path in MARKED:
        written[path] = PLACE.sub(
            lambda m: m[1] + BLOCKS[m[2]](found) + "\n" + m[3], path.read_text(encoding="utf-8")
        )
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
    keys = (
        "challenger",
        "inconclusive",
        "falsified",
        "baseline",
        "resolved direction",
        "resolved noise",
    )
    rows = [
        [f"{100 * gap:.0f}", *(span(of(found["design"], key, gap=gap)) for key in keys)]
        for gap in (0.0, 0.05, 0.10, 0.20)
    ]
    heads = ["PowerShell", "no rule", "noise", "Bash", "a direction, resolved", "noise, resolved"]
    return table(["true gap", *heads], rows, "r" * 7)


def _widths(found: Found) -> str:
    at0 = {key: of(found["design"], key, gap=0.0) for key in ("half-width S", "half-width F")}
    s, f = (span(at0[key]).replace(" %", " points") for key in at0)
    return f"With 20 tasks and 5 trials, expect a half-width of {s} for S and of {f} for F (medians, by scenario)."


def _false(found: Found) -> str:
    wrong, noise = (
        span(of(found["design"], f"resolved {key}", gap=0.0), 1)
        for key in ("false direction", "noise")
    )
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
        ["S, the report's", span(of(found["design"], "S covers"))],
        [
            "paired t over tasks, floored where all differ alike",
            span(of(found["design"], "t covers")),
        ],
        ["floored over tasks (two pseudo-tasks)", span(of(found["design"], "floored covers"))],
        ["all runs of a shell as independent", span(of(found["design"], "runs independent cover"))],
        ["percentile bootstrap over tasks", span(of(found["resampling"], "percentile"))],
        ["bias-corrected bootstrap over tasks", span(of(found["resampling"], "BCa"))],
        ["on these tasks (F), of the gap on these tasks", span(of(found["design"], "F covers"))],
    ]
    return table(["nominal 95 % interval", "covers the true gap"], rows, "lr")


def _levels(found: Found) -> str:
    rows = [
        [words, span(of(found["design"], f"{key} rejects", gap=0.0))]
        for words, key in (
            ("sign-flip over tasks, mid-p (the report's)", "sign-flip"),
            ("the same, ties counted in full", "full p"),
            ("paired t over tasks", "t"),
            ("McNemar over runs", "McNemar"),
            ("Mantel-Haenszel over runs, stratified by task", "stratified"),
        )
    ]
    return table(["test at 5 %", "rejects a true gap of 0"], rows, "lr")


def _survives(found: Found) -> str:
    low, high = (span(of(found["design"], "survives", gap=gap)) for gap in (0.0, 0.10))
    return (
        f"With 20 tasks the verdict survives all 20 deletions in {low} of studies at a true gap of 0 and in {high} at "
        "10, so a change is normal, and worth knowing."
    )


def _shares(found: Found) -> str:
    rows = [
        [row["scenario"], row["share"], row["studies"], span([row["right"]])]
        for row in found["shares_of_resamples"]
    ]
    return table(["scenario", "a verdict's share", "cases", "the true gap has it"], rows, "lrrr")


def _near_edge(found: Found) -> str:
    rows = [
        [
            row["tasks"],
            f"{100 * row['baseline']:.0f} %",
            f"{100 * row['gap']:.0f}",
            *(span([row[key]], 1) for key in ("t covers", "S covers")),
            *(span([row[key]]) for key in ("rightly ahead", "wrongly ahead", "cannot tell")),
        ]
        for row in found["weak_places"]
        if row["baseline"] >= 0.9
    ]
    heads = [
        "tasks",
        "Bash passes",
        "true gap",
        "paired t covers",
        "S covers",
        "rightly ahead",
        "wrongly ahead",
    ]
    return table([*heads, "cannot tell"], rows, "r" * 8)


def _ahead(found: Found) -> str:
    null, other = (
        [row for row in found["said_ahead"] if bool(row["gap"]) == power] for power in (False, True)
    )
    mid, full = (span([max(of(null, name))], 1) for name in ("mid-p", "full p"))
    power = [
        f"{span([row['mid-p']])} ({span([row['full p']])}) of studies of {row['tasks']} tasks where "
        f"{row['place'].replace('%', ' %')}"
        for row in other
    ]
    return (
        f"At a true gap of 0, in {len(null)} populations of 20 or 60 tasks, at most {mid} of studies wrongly say who "
        f"is ahead; with ties counted in full, {full}. It is said rightly in {' and in '.join(power)} (in brackets "
        "with ties counted in full; the log odds of a task's rates are normal with spread 2)."
    )


def _floor(found: Found) -> str:
    weak, shared = found["weak_places"], found["shared_effects"]
    plain, report = (span(of(weak, f"{key} covers")) for key in ("t", "S"))
    wider = max(row["half-width S"] - row["half-width t"] for row in found["design"])
    return (
        f"In simulations of such shells the t interval covers {plain} and S {report}. In the scenarios S is at most "
        f"{100 * wider:.1f} points wider than the t interval (medians). Where the tasks of a category share an effect "
        f"of up to 15 points, S covers {span(of(shared, 'S covers'))}, and {span(of(shared, 'wrongly ahead'))} of "
        "studies wrongly say who is ahead."
    )


def _edges(found: Found) -> str:
    """Of the rows in which the shell matters."""
    rows = [row for row in found["no_room"] if row["effect"]]
    middle, lowest = (
        max(rows, key=lambda row: row["gap"]),
        min(rows, key=lambda row: row["baseline"]),
    )
    outer = [row["cannot tell"] for row in rows if not 0.04 < row["baseline"] < 0.96]
    inner = [row["cannot tell"] for row in rows if 0.2 < row["baseline"] < 0.8]
    return (
        "Simulated: twenty tasks whose log odds of passing are normal around the model's ability (spread 2), and a "
        f"shell that moves them by {middle['effect']:g} on average (spread 0.5). Where Bash passes "
        f"{span([middle['baseline']])} of runs, the gap is {100 * middle['gap']:.1f} points. Where it passes "
        f"{span([lowest['baseline']], 1)}, the gap is {100 * lowest['gap']:.1f} points, and "
        f"{span([lowest['reads noise']])} of studies read noise. The report says *cannot tell* in {span(outer)} of "
        f"studies below 4 % and above 96 %, and in {span(inner)} between 20 and 80 %."
    )


def _stopping(found: Found) -> str:
    first, last, ever = (
        span(of(found["optional_stopping"], key), 1) for key in ("first", "last", "any")
    )
    return (
        f"In simulations of no difference, p is at most 0.05 in {first} of studies at 5 trials, in {last} at 20, and "
        f"in {ever} at one of 5, 10, 15 and 20."
    )


def _sets(found: Found) -> str:
    """By formula, which the simulated sizes agree with (tests/analysis/test_power.py)."""
    sizes = {name: len(chosen.tasks) for name, chosen in task_sets().items()}
    sources = [(name, scenario_variance(scenario)) for name, scenario in SCENARIOS.items()]
    return table(["scenario", "set", "tasks", *MEASURES], set_rows(sources, sizes, 5), "llrrrr")


def _outlook(found: Found) -> str:
    """Computed for the sets as they are."""
    rates, rows = (0.6, 0.8, 0.9, 0.95), []
    for name, chosen in task_sets().items():
        at = [outlook(rate, len(chosen.tasks), 5) for rate in rates]
        rows.append(
            [
                name,
                len(chosen.tasks),
                *(f"{100 * o.gap:.0f} / {100 * o.cannot_tell:.0f} %" for o in at),
            ]
        )
    return table(["set", "tasks", *(f"at {100 * rate:.0f} %" for rate in rates)], rows, "lrrrrr")


BLOCKS: dict[str, Callable[[Found], str]] = {
    "rows": _rows,
    "widths": _widths,
    "false": _false,
    "sizes": _sizes,
    "intervals": _intervals,
    "levels": _levels,
    "survives": _survives,
    "shares": _shares,
    "floor": _floor,
    "near-edge": _near_edge,
    "ahead": _ahead,
    "edges": _edges,
    "stopping": _stopping,
    "sets": _sets,
    "outlook": _outlook,
}


def _constants(found: Found) -> str:
    design = found["design"]
    false = [
        b + c
        for b, c in zip(
            of(design, "baseline", gap=0.0), of(design, "challenger", gap=0.0), strict=True
        )
    ]
    texts = {
        "NOISE_AT_0": (
            span(of(design, "falsified", gap=0.0)),
            "studies of a true gap of 0 that the table reads as noise",
        ),
        "FALSE_DIRECTION_AT_0": (span(false), "those that it reads as a direction"),
        "SURVIVES": (
            span(of(design, "survives", gap=0.0)),
            "those whose row survives every deletion of a task",
        ),
        "SURVIVES_AT_10": (
            span(of(design, "survives", gap=0.10)),
            "the same at a true gap of 10 points",
        ),
        "SHARES_RIGHT": (
            span(of(found["shares_of_resamples"], "right", share="0.8 to 0.9")),
            "how often a share of resamples of 80 to 90 % named the true row",
        ),
        "STOPPING": (
            span([max(of(found["optional_stopping"], "any"))]),
            "the most that looking at 5, 10, 15 and 20 trials rejects a true gap of 0",
        ),
    }
    lines = [f'{name} = "{value}"  # {words}' for name, (value, words) in texts.items()]
    questions = (AHEAD, BY_TEN, NO_DIFFERENCE)
    tasks = {
        name: tuple(
            of(found["sizes"], "tasks", scenario=name, question=question)[0]
            for question in questions
        )
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
