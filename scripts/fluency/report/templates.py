"""The templates under report/: they get values and hold the layout and most of the words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import jinja2

from fluency.common.paths import REPORT
from fluency.core.shells import SHELLS
from fluency.report.markdown import aligned, code, text
from fluency.report.numbers import percent, points, rate, seconds, signed, span
from fluency.report.sentences import attempt, judged, missing_programs, short_name
from fluency.report.tables import change_table, difference_table, task_table


def full_name(shell: str) -> str:
    """A shell's name with its version; any other word as it is."""
    return SHELLS[shell].title if shell in SHELLS else shell


def cell_link(path: str) -> str:
    """A link to a cell in the explorer."""
    return f"[{path}](explorer.html#{path})"


FILTERS: tuple[Callable[..., object], ...] = (
    percent,
    points,
    rate,
    seconds,
    signed,
    span,
    code,
    text,
    attempt,
    judged,
    missing_programs,
    short_name,
    full_name,
    change_table,
    difference_table,
    task_table,
    cell_link,
)


def render(name: str, values: dict[str, Any]) -> str:
    """A template's text.

    A value that it names and `values` lacks is an error. Values are escaped in HTML and SVG; in
    Markdown the template names a filter, since some values are Markdown.
    """
    is_markdown = name.endswith(".md.j2")
    rendered = _environment(is_markdown).get_template(name).render(values)
    return re.sub(r"\n{3,}", "\n\n", aligned(rendered)) if is_markdown else rendered


@cache
def _environment(is_markdown: bool) -> jinja2.Environment:
    """Made once, since it keeps the templates that it has compiled."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(REPORT),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=not is_markdown,
    )
    environment.filters |= {function.__name__: function for function in FILTERS}
    return environment
