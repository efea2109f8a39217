"""The table of docs/commands.md, from the Makefile."""

from __future__ import annotations

import re

from fluency.common.paths import ROOT
from tools.pages import filled

PAGE = "docs/commands.md"


def pages() -> dict[str, str]:
    """The page with every target that a person calls, in the order of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):.*?## (.*)$", makefile.replace("|", "\\|"), re.M)
    rows = ["| command | what it does |", "|---|---|"]
    rows += [f"| `make {name}` | {text} |" for name, text in targets]
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    return {PAGE: filled(page, "targets", "\n".join(rows))}
