"""The structural check of the design: every line matches a pattern, or the text is JSON of a shape.

`literal` is the design document's own check, which an empty output passes where no number of lines is fixed;
`holds` is what the headline asks for, which an empty output never passes.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fluency.core.tasks import Structure
from fluency.scoring.content import quoted
from fluency.scoring.json_values import NOT_JSON, parse_json

_compiled = lru_cache(maxsize=None)(re.compile)


def literal(structure: Structure, text: str, lines: list[str]) -> str | None:
    """None if the design's check passes, else one clause that names the first line or shape that is wrong."""
    if structure.json_shape is not None:
        return _shape(structure.json_shape, text)
    pattern = _compiled(structure.line)
    for number, line in enumerate(lines, 1):
        if not pattern.search(line):
            return f"line {number} {quoted(line)} does not match {structure.line}"
    if structure.lines == "exactly-one" and len(lines) != 1:
        return "nothing was printed" if not lines else f"{len(lines)} lines where exactly one is asked for"
    return None


def holds(structure: Structure, text: str, lines: list[str]) -> str | None:
    """None if the structure is there and not only vacuously so, else one clause that says what is wrong."""
    return literal(structure, text, lines) if lines else "nothing was printed"


def _shape(shape: str, text: str) -> str | None:
    if not text.strip():
        return "nothing was printed"
    value = parse_json(text)
    if value is NOT_JSON:
        return "the output is not one JSON value"
    if shape == "object":
        return None if isinstance(value, dict) else "the output is not a JSON object"
    if not isinstance(value, list):
        return "the output is not a JSON array"
    if shape == "array-of-objects" and not all(isinstance(item, dict) for item in value):
        return "an element of the JSON array is not an object"
    return None
