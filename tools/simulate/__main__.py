"""`make simulate`: simulate every table again, write the figures, and the pages that show them.

Without an argument everything; `--pages` writes the pages from the figures as they are.
"""

from __future__ import annotations

import json
import sys
import time

from tools.simulate.figures import TABLES
from tools.simulate.pages import FIGURES, write_pages


def main(arguments: list[str]) -> int:
    """Simulate, unless only the pages are wanted, and write."""
    if "--pages" not in arguments:
        found = {}
        for name, (table, count) in TABLES.items():
            start = time.monotonic()
            found[name] = {"studies": count, "rows": table(count)}
            print(
                f"{name}: {len(found[name]['rows'])} rows, {time.monotonic() - start:.0f} s",
                flush=True,
            )
        FIGURES.write_text(dump(found), encoding="utf-8")
    write_pages()
    return 0


def dump(found: dict) -> str:
    """One row a line, so that a change can be read."""
    parts = []
    for name, table in found.items():
        rows = ",\n".join(
            f"   {json.dumps(rounded(row), ensure_ascii=False, allow_nan=False)}"
            for row in table["rows"]
        )
        parts.append(
            f' {json.dumps(name)}: {{"studies": {table["studies"]}, "rows": [\n{rows}\n ]}}'
        )
    return "{\n" + ",\n".join(parts) + "\n}\n"


def rounded(row: dict) -> dict:
    """Shares to a tenth of a per cent."""
    return {
        key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
