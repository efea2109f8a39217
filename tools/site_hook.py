"""What the documentation site takes from the project itself while it is built (a hook of MkDocs).

The table of commands comes from the Makefile, so that the page is never out of date.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

MAKEFILE = Path(__file__).resolve().parents[1] / "Makefile"
PLACE = "<!-- make: targets -->"
TARGET = re.compile(r"^([a-z-]+):.*?## (.*)$", re.M)


def targets(makefile: str) -> dict[str, str]:
    """The targets that a person calls, with what they do, in the order of the Makefile."""
    return dict(TARGET.findall(makefile))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the table of commands where a page asks for it."""
    if PLACE not in markdown:
        return markdown
    rows = [
        f"| `make {name}` | {text} |"
        for name, text in targets(MAKEFILE.read_text(encoding="utf-8")).items()
    ]
    return markdown.replace(PLACE, "\n".join(["| command | what it does |", "|---|---|", *rows]))
