"""Where simulated figures are shown: one page of tables, and the package's own constants."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fluency.common.paths import ROOT
from fluency.report.markdown import table
from fluency.report.power import HEADS, size_row
from tools.pages import filled
from tools.simulate.figures import SIZES
from tools.simulate.scenarios import SCENARIOS

FIGURES = Path(__file__).with_name("figures.json")
PAGE = ROOT / "docs" / "figures.md"
CONSTANTS = ROOT / "scripts" / "fluency" / "analysis" / "simulated.py"
Rows = list[dict[str, Any]]


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
    page = PAGE.read_text(encoding="utf-8")
    near = [row for row in found["claims"] if row["baseline"] == 0.9 and row["gap"] >= 0]
    spreads = {f"scenario {name}": scenario.spread(5) for name, scenario in SCENARIOS.items()}
    parts = {
        "claims": f"{_claims(found['claims'])}\n\n{count} studies a row. With Bash at 90 % and a "
        f"gap of 0 or 5, {span(of(near, 'too easy or hard'))} of studies end with tasks too easy "
        "to tell by how much the shells differ.",
        "design": _rows(found["design"]),
        "levels": _levels(found["levels"]),
        "others": _others(found["design"]),
        "sizes": table(
            HEADS, [size_row(name, spread, 20) for name, spread in spreads.items()], "lrrrrr"
        ),
    }
    for mark, text in parts.items():
        page = filled(page, mark, text)
    return page


def _claims(rows: Rows) -> str:
    cells: dict[tuple[float, float], list[str]] = {}
    for pair in zip(rows[::2], rows[1::2], strict=True):
        rate, gap = pair[0]["baseline"], pair[0]["gap"]
        line = cells.setdefault((rate, gap), [f"{100 * rate:.0f} %", f"{100 * gap:.0f}"])
        for key in ("ahead" if gap else "wrongly ahead", "covers"):
            line.append("/".join(f"{100 * row[key]:.0f}" for row in pair))
    heads = ["Bash", "true gap"]
    for tasks in dict.fromkeys(row["tasks"] for row in rows):
        heads += [f"{tasks} tasks: ahead, %", "covers, %"]
    return table(heads, [*cells.values()], "r" * len(heads))


def _rows(rows: Rows) -> str:
    keys = ["challenger", "baseline", "falsified", "ahead", "direction supported"]
    keys += ["noise supported", "covers"]
    lines = [
        [tasks, f"{100 * gap:.0f}", *(span(of(rows, key, gap=gap, tasks=tasks)) for key in keys)]
        for tasks in dict.fromkeys(row["tasks"] for row in rows)
        for gap in (0.0, 0.05, 0.10, 0.20)
    ]
    heads = ["tasks", "true gap", "PowerShell", "Bash", "noise", "ahead", "direction supported"]
    heads += ["noise supported", "interval covers"]
    return table(heads, lines, "r" * len(heads))


def _levels(rows: Rows) -> str:
    lines = [
        [claim, *(f"{100 * row[claim]:.1f} %" for row in rows)]
        for claim in rows[0]
        if claim != "tasks"
    ]
    return table(["", *(f"{row['tasks']} tasks" for row in rows)], lines, "lrrrr")


def _others(rows: Rows) -> str:
    lines = [
        [words, *(span(of(rows, key, tasks=tasks, **where)) for tasks in SIZES)]
        for words, key, where in (
            ("the report's interval covers", "covers", {}),
            ("percentile bootstrap over tasks covers", "bootstrap covers", {}),
            ("all runs of a shell as independent: covers", "runs independent cover", {}),
            ("the report's interval excludes a true gap of 0", "ahead", {"gap": 0.0}),
            ("McNemar over runs rejects a true gap of 0", "McNemar rejects", {"gap": 0.0}),
        )
    ]
    return table(["", *(f"{tasks} tasks" for tasks in SIZES)], lines, "lrrrr")


def _constants(found: dict[str, Rows]) -> str:
    at20 = [row for row in found["design"] if row["tasks"] == 20]
    at0 = [row for row in at20 if row["gap"] == 0.0]
    false = [row["baseline"] + row["challenger"] for row in at0]
    texts = {
        "NOISE_AT_0": (span(of(at0, "falsified")), "of a true gap of 0, read as noise"),
        "FALSE_DIRECTION_AT_0": (span(false), "of a true gap of 0, read as a direction"),
        "SURVIVES": (span(of(at0, "survives")), "whose row survives leaving any task out"),
        "SURVIVES_AT_10": (span(of(at20, "survives", gap=0.10)), "the same at a true gap of 10"),
    }
    head = '"""Simulated figures that the report prints; `make simulate` writes this file."""\n\n'
    lines = [f'{name} = "{value}"  # {words}\n' for name, (value, words) in texts.items()]
    return "".join([head, *lines])
