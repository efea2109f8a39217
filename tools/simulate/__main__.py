"""`make simulate`: simulate every table again, write the figures, and the pages that show them.

Without an argument everything; `--pages` writes the pages from the figures as they are.
"""

from __future__ import annotations

import json
import sys
import time

from tools.simulate.figures import TABLES
from tools.simulate.pages import FIGURES, pages


def main(arguments: list[str]) -> int:
    """Simulate, unless only the pages are wanted, and write."""
    if "--pages" not in arguments:
        parts = []
        for name, (table, count) in TABLES.items():
            start = time.monotonic()
            # One row a line, so that a change can be read.
            rows = ",\n   ".join(map(_line, table(count)))
            print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
            parts.append(f' "{name}": {{"studies": {count}, "rows": [\n   {rows}\n ]}}')
        FIGURES.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    return 0


def _line(row: dict[str, object]) -> str:
    """A row as JSON, shares to a hundredth of a per cent."""
    rounded = {
        key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()
    }
    return json.dumps(rounded, ensure_ascii=False, allow_nan=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
