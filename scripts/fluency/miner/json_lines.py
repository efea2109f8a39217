"""JSON lines, one at a time in bounded memory; what is no JSON object is counted, never an error."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LONGEST_LINE = 4 << 20
LARGEST_DOCUMENT = 32 << 20


def read_lines(path: Path, tally: Counter[str]) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl file. Malformed and overlong lines are skipped and counted in `tally`."""
    with path.open("rb") as stream:
        while line := stream.readline(LONGEST_LINE):
            tally["lines"] += 1
            tally["bytes"] += len(line)
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                tally["overlong lines"] += 1
                while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    tally["bytes"] += len(rest)
                continue
            if line.strip():
                value = parse(line, tally)
                if value is not None:
                    yield value


def read_document(path: Path, tally: Counter[str]) -> dict[str, Any] | None:
    """The object in a .json file, or None if it is none or too large to be a transcript."""
    if path.stat().st_size > LARGEST_DOCUMENT:
        tally["overlong lines"] += 1
        return None
    data = path.read_bytes()
    tally["lines"] += 1
    tally["bytes"] += len(data)
    return parse(data, tally)


def parse(data: bytes | str, tally: Counter[str]) -> dict[str, Any] | None:
    """A JSON object, or None, counted."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    tally["malformed lines"] += 1
    return None


def text_of(content: Any) -> str:
    """The text of a message's content: a text, or a list of texts or blocks that have one."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (block if isinstance(block, str) else _block(block) for block in content)))
    return ""


def _block(block: Any) -> str:
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else ""


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one: transcripts promise nothing."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []
