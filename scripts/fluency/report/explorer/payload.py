"""Views packed for a page: every distinct value once, in text that no parser of HTML can leave.

Half of a study's texts are the same text (a prompt for five trials, a right output for every pass), so
values are shared. That is enough for the usual study, whose bytes then depend on no compressor's version.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any


class Pool:
    """Distinct values by number. A list is `[-1, number…]`, a mapping `[shape, number…]`, the rest is itself.

    shapes: the keys of each kind of mapping, in the order of its numbers. Equal values have one number.
    size: about how many characters of JSON they are.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.shapes: list[list[str]] = []
        self.size = 0
        self._value_numbers: dict[Any, int] = {}
        self._shape_numbers: dict[tuple[str, ...], int] = {}

    def add(self, value: Any) -> int:
        """The number of a JSON-ready value."""
        if isinstance(value, dict):
            keys = tuple(map(str, value))
            shape = self._shape_numbers.setdefault(keys, len(self.shapes))
            if shape == len(self.shapes):
                self.shapes.append(list(keys))
            return self._keep([shape, *map(self.add, value.values())])
        if isinstance(value, list | tuple):
            return self._keep([-1, *map(self.add, value)])
        return self._keep(round(value, 6) if isinstance(value, float) else value)

    def _keep(self, value: Any) -> int:
        key = tuple(value) if isinstance(value, list) else (type(value), value)
        number = self._value_numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self.size += _length(value)
        return number


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value) + 3
    return 5 * len(value) if isinstance(value, list) else 6


_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def script_json(value: Any) -> str:
    """JSON in pure ASCII without `<`, `>` and `&`: inside a script element nothing in it can be markup.

    Being ASCII it also holds no U+2028, no direction mark and no lone surrogate as such, all of which stay
    in it as escapes; NaN is refused.
    """
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).translate(_HTML)


def deflated(text: str) -> str:
    """A text compressed (zlib's format) in base64, which holds no character that HTML gives a meaning."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
