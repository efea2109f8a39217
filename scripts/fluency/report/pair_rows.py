"""The report's tables of two aliases of one model id."""

from __future__ import annotations

from fluency.analysis.study_analysis import Analysis
from fluency.analysis.subgroups import GAP, AliasDifference, AliasPair
from fluency.core.shells import SHELLS
from fluency.report.escape import text
from fluency.report.markdown import table
from fluency.report.numbers import percent, signed, span


def pair_tables(analysis: Analysis) -> str:
    """A heading and a table for each pair."""
    return "\n\n".join(f"**{text(pair.model_id)}**\n\n{_table(pair)}" for pair in analysis.pairs)


def _table(pair: AliasPair) -> str:
    headers = ["", "tasks", text(pair.first), text(pair.second), "difference, pp", "95 %, tasks like these"]
    return table(headers, [_row(line) for line in pair.differences], "lrrrrr")


def _row(line: AliasDifference) -> list[str]:
    name = "gap of the arms" if line.name == GAP else f"{SHELLS[line.name].short_title} pass@1"
    if line.value is None or line.rates is None or line.interval is None:
        return [name, "0", *["n/a"] * 4]
    shown = signed if line.name == GAP else percent
    interval = span(line.interval) + (" (floored)" if line.floored else "")
    return [name, str(line.tasks), *map(shown, line.rates), signed(line.value), interval]
