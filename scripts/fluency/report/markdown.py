"""Markdown tables that read as plain text, and foreign words made harmless in Markdown."""

import re
from collections.abc import Sequence

from fluency.common.words import escape_controls


def table(headers: Sequence[str], rows: Sequence[Sequence[object]], align: str = "") -> str:
    """A table; `align` holds `l` or `r` for each column (default left).

    Cells are Markdown already: text that is not this project's own must have passed `text` before.
    """
    lines = [list(headers), *([str(cell) for cell in row] for row in rows)]
    columns = []
    for side, *cells in zip(align.ljust(len(headers), "l"), *lines, strict=True):
        wide, right = max(3, *map(len, cells)), side == "r"
        head, *rest = [cell.rjust(wide) if right else cell.ljust(wide) for cell in cells]
        columns.append([head, "-" * (wide - right) + ":" * right, *rest])
    return "\n".join(f"| {' | '.join(line)} |" for line in zip(*columns, strict=True))


def aligned(markdown: str) -> str:
    """The text with the columns of its tables padded."""

    def padded(found: re.Match[str]) -> str:
        head, rule, *rows = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in found[0].splitlines()
        ]
        return (
            table(head, rows, "".join("r" if cell.endswith(":") else "l" for cell in rule)) + "\n"
        )

    return re.sub(r"(?:^\|.*\|\n)+", padded, markdown, flags=re.MULTILINE)


LIMIT = 240
_LOUD = re.compile(
    r"""(?ix) :(?=//) | (?<=www)\. | (?<![a-z0-9])_ | _(?![a-z0-9]) | [<@](?!\d)
    | (?<=!)\[ | \[(?![a-z0-9]) | \](?!\ ) | [^\w .,\-/()'"+=%:;?<@\[\]\x80-\U0010ffff]""",
    re.ASCII,
)
"""What could be Markdown or HTML: a bracket as of a link, an address, a mark."""
_SPAN = re.compile(r"&#96;([\w.,/=:-]+(?: [\w.,/=:-]+)*)&#96;", re.ASCII)


def visible(text: str, limit: int = LIMIT) -> str:
    """One line: newlines as ⏎, tabs as ⇥, invisible characters as escapes, long text cut."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return escape_controls(cut.replace("\r\n", "\n")).replace("\n", "⏎").replace("\t", "⇥")


def code(text: str | None, limit: int = LIMIT) -> str:
    """A code span that holds exactly the visible text; not for table cells (see `text`)."""
    shown = visible(text or "", limit)
    if not shown.strip():
        return "(nothing)"
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def text(value: object, limit: int = LIMIT) -> str:
    """Plain words for prose and table cells: Markdown and HTML become entities.

    Code spans of plain words and blanks are left as they are.
    """
    escaped = _LOUD.sub(lambda found: f"&#{ord(found[0])};", visible(str(value), limit))
    return _SPAN.sub(r"`\1`", escaped)
