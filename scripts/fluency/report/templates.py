"""The templates under report/: they get values and hold the layout and most of the words."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import jinja2
from rich import filesize
from rich.markup import escape
from rich.syntax import Syntax

from fluency.common.paths import REPORT
from fluency.common.terminal import one_line
from fluency.common.words import escape_controls, plural
from fluency.report.markdown import aligned, code, text
from fluency.report.marks import mark_of
from fluency.report.numbers import amount, percent, points, rate, seconds, signed, span
from fluency.report.words import attempt_note, full_name, in_shells, short_name


def cell_link(path: str) -> str:
    """A link to a cell in the explorer."""
    return f"[{path}](explorer.html#{path})"


def plain(text: str) -> str:
    """A foreign text that neither a terminal nor Rich's markup obeys."""
    return escape(escape_controls(text))


def coloured(text: str, lexer: str) -> str:
    """A foreign text in a terminal, with the colours of its language as markup."""
    head = escape_controls(text.removesuffix("\n"))
    found = Syntax("", lexer, theme="ansi_dark", tab_size=8).highlight(head)
    found.rstrip()
    return found.markup


REPAIRED_SHARE = "±14 to ±27 points"
"""How exactly 68 tasks state which share of a shell's failures is repaired."""
FILTERS: tuple[Callable[..., object], ...] = (
    amount,
    percent,
    points,
    rate,
    seconds,
    signed,
    span,
    code,
    text,
    attempt_note,
    short_name,
    full_name,
    in_shells,
    cell_link,
    plain,
    coloured,
    filesize.decimal,
    mark_of,
    plural,
)


def render(name: str, values: dict[str, Any]) -> str:
    """A template's text.

    A value that it names and `values` lacks is an error. Values are escaped in HTML and SVG; in
    Markdown and for a terminal the template names a filter, since some values are markup. In
    `.lines.j2` every value is one line, so that none can forge another.
    """
    is_markup, of_lines = name.endswith((".html.j2", ".svg.j2")), name.endswith(".lines.j2")
    rendered = _environment(is_markup, of_lines).get_template(name).render(values)
    return re.sub(r"\n{3,}", "\n\n", aligned(rendered)) if name.endswith(".md.j2") else rendered


@cache
def _environment(autoescape: bool, of_lines: bool) -> jinja2.Environment:
    """Made once, since it keeps the templates that it has compiled."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(REPORT),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,
        finalize=(lambda value: one_line(str(value))) if of_lines else None,
    )
    environment.filters |= {function.__name__: function for function in FILTERS}
    environment.globals["repaired_share"] = REPAIRED_SHARE
    return environment
