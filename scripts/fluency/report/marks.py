"""A symbol for each way a trial can end, and each failure class in words."""

from fluency.common.data_file import data_file

_TABLE = data_file(__file__)
MARKS: dict[str, tuple[str, str]] = _TABLE["marks"]
"""Kind -> its symbol, and what it means."""
FAILURES: dict[str, tuple[str, str]] = _TABLE["failures"]
"""Failure class -> the kind it is, and what the command or answer did."""


def mark_of(state: str) -> str:
    """The symbol of a trial: `passed`, `missing`, `not_measured` or any failure class."""
    kind = state if state in MARKS else FAILURES.get(state, ("wrong", ""))[0]
    return MARKS[kind][0]
