"""The tables of docs/archive.md and docs/evidence.md: what is checked, how forgeries end."""

from __future__ import annotations

from typing import get_args

from fluency.archive.playback import FIELDS, Kind
from fluency.common.paths import ROOT
from tests.archive.test_forgeries import GROUPS, PLACES, SHOWN
from tools.pages import filled

CHECKS, FORGERIES = "docs/archive.md", "docs/evidence.md"
HEADS = dict(
    zip(
        get_args(Kind),
        ("recomputed", "recomputed words", "equal to one source", "stated", "about code"),
        strict=True,
    )
)


def checks() -> str:
    """How each field of a record is checked, as Markdown."""
    rows = [
        f"| {kind.__name__} | {' | '.join(', '.join(names.get(of, '').split()) for of in HEADS)} |"
        for kind, names in FIELDS.items()
    ]
    return "\n".join([f"| record | {' | '.join(HEADS.values())} |", "|---" * 6 + "|", *rows])


def forgeries() -> str:
    """What verification says of the shown forgeries in each checkout, as Markdown."""
    verdicts = {name: ends for ends, group in GROUPS.items() for name in group}
    rows = [f"| {name} | {' | '.join(verdicts[name])} |" for name in SHOWN]
    honest = "| nothing" + " | PROVEN" * len(PLACES) + " |"
    return "\n".join([f"| altered | {' | '.join(PLACES)} |", "|---" * 6 + "|", honest, *rows])


def pages() -> dict[str, str]:
    """Both pages."""
    parts = {CHECKS: ("fields", checks()), FORGERIES: ("forgeries", forgeries())}
    return {
        page: filled((ROOT / page).read_text(encoding="utf-8"), mark, table)
        for page, (mark, table) in parts.items()
    }
