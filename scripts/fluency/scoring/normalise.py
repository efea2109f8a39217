"""What a check forgives: encoding marks, line ends, colour, padding; and the two ways of writing a path.

Everything here is idempotent. Nothing here forgives a header, a missing line, or another order.
"""

from __future__ import annotations

import re

from fluency.world.model import WORK_DIR

WORLD_ROOT = f"{WORK_DIR}/"

_BOM = "\ufeff"
_ESCAPES = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    # OSC: window titles, hyperlinks. One that is not ended ends with its line, or it would swallow what follows.
    "|\x1b\\][^\x07\x1b\r\n]*(?:\x07|\x1b\\\\|(?=[\r\n])|\\Z)"
    "|\x1b"  # what is left of a broken sequence, so that no new one can form
)
_BLANKS = re.compile(r"[ \t]+")
_SLASHES = re.compile(r"/(?:\.?/)+")


def clean(raw: bytes) -> str:
    """The text of a stream: UTF-8 with errors replaced, without byte order marks and escape sequences, LF ends."""
    text = raw.decode("utf-8", errors="replace").replace(_BOM, "")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text.replace("\r\n", "\n") if "\r" in text else text


def lines(text: str) -> list[str]:
    """The lines of a clean text that hold something, trimmed, with one space for each run of blanks."""
    trimmed = (_BLANKS.sub(" ", line).strip(" \r") for line in text.split("\n"))
    return [line for line in trimmed if line]


def path(written: str) -> str:
    """A path relative to the world's root: without the root and leading `./`, and without `//` and `/./` inside.

    All of these name the same file by POSIX. A trailing slash stays: it names a directory and is wrong for a file,
    and a comparison of texts cannot see which of the two it has before it. `..` stays because of symbolic links.
    """
    written = _SLASHES.sub("/", written)
    written = written.removeprefix(WORLD_ROOT)
    while written.startswith("./"):
        written = written[2:]
    return written
