"""Texts for people: plurals, and escapes for hidden characters."""

import re
import unicodedata

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
"""Unicode categories of characters that a terminal interprets or hides."""
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""The Default_Ignorable_Code_Points of other categories, and the Braille blank."""
NOTHING_TO_DO = "Nothing to do: every record is there and up to date."


def plural(number: int, noun: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def escape_controls(text: str) -> str:
    """A text with every invisible character escaped; line ends and tabs stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode()
        if c not in "\n\t" and (unicodedata.category(c) in UNSEEN or BLANK.match(c))
        else c
        for c in text
    )
