"""The report's text from its template."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jinja2

from fluency.common.paths import REPORT
from fluency.report import escape
from fluency.report.markdown import table
from fluency.report.numbers import percent, points, probability, seconds, signed, span


def environment(folder: Path = REPORT) -> jinja2.Environment:
    """Templates in which a missing value is an error, and the filters for numbers and hostile text."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    env.filters.update(
        percent=percent,
        points=points,
        probability=probability,
        seconds=seconds,
        signed=signed,
        span=span,
        code=escape.code,
        text=escape.text,
    )
    env.globals.update(table=table)
    return env


def render(values: dict[str, Any], name: str = "report.md.j2") -> str:
    """The Markdown of a template and its values."""
    written = environment().get_template(name).render(values)
    return re.sub(r"\n{3,}", "\n\n", written)
