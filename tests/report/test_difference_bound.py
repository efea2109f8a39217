"""A short output may not cost a reader much, however its JSON is nested."""

import pytest

from fluency.report.difference import MOST_JSON, difference

DEEP = b"[" * 900 + b"1," * 5 + b"1" + b"]" * 900


@pytest.mark.parametrize("printed", [DEEP, b"[" + b"1," * MOST_JSON + b"1]"], ids=["deep", "long"])
def test_difference_of_deep_or_long_json(printed):
    """Indented, its size would grow by the square of its depth."""
    found = difference([1], printed, "json")
    assert [row.text for row in found.rows if row.op == "+"] == [printed.decode()]
