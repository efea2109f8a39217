"""Text that a model, a server or a machine wrote, made harmless in Markdown and in the HTML made of it.

Such text is never structure: no link, image, heading, table cell or HTML can come of it, and no control or
direction character can disguise it.
"""

from __future__ import annotations

import re
import unicodedata

LIMIT = 240
_QUIET = set(" .,-/()'+=%:;?")
_ADDRESS = re.compile(r"(?i):(?=//)|(?<=www)\.")


def visible(text: str, limit: int = LIMIT) -> str:
    """One line: newlines as ⏎, controls and direction characters as \\u escapes, long text cut and marked."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    out = []
    for char in cut.replace("\r\n", "\n"):
        if char == "\n":
            out.append("⏎")
        elif char == "\t":
            out.append("⇥")
        elif char != " " and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"):
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return "".join(out)


def code(text: str | None, limit: int = LIMIT) -> str:
    """A Markdown code span that holds exactly the visible text; not for table cells (see `text`)."""
    shown = visible(text or "", limit)
    if not shown.strip():
        return "(nothing)"
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def text(value: object, limit: int = LIMIT) -> str:
    """Plain words for prose and table cells: whatever Markdown or HTML could read becomes an entity."""
    shown = visible(str(value), limit)
    addresses = {match.start() for match in _ADDRESS.finditer(shown)}
    return "".join(
        char if _is_quiet(shown, place) and place not in addresses else f"&#{ord(char)};"
        for place, char in enumerate(shown)
    )


def _is_quiet(text: str, place: int) -> bool:
    char, before, following = text[place], text[max(place - 1, 0) : place], text[place + 1 : place + 2]
    if char.isalnum() or char in _QUIET or ord(char) > 127:
        return True
    if char == "[":
        return following.isalnum() and before != "!"
    if char == "]":
        return following == " "  # neither a link nor a definition can follow it then
    return (char == "_" and _inside_word(text, place)) or (char in "<@" and following.isdigit())


def _inside_word(text: str, place: int) -> bool:
    return 0 < place < len(text) - 1 and text[place - 1].isalnum() and text[place + 1].isalnum()
