"""Remove from a text what says who wrote it and where: names, hosts, addresses, keys.

The rules remove more than they must: a candidate's draft is rewritten by hand in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import yaml

_FILE = yaml.safe_load(Path(__file__).with_name("redact.yaml").read_text(encoding="utf-8"))


def _compiled(pattern: str) -> re.Pattern[str]:
    for name, part in _FILE["parts"].items():
        pattern = pattern.replace(f"<{name}>", part)
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


_RULES = [(_compiled(pattern), by) for pattern, by in _FILE["rules"]]
GENERIC_NAMES = frozenset(_FILE["generic"].split())
_HOME_OF = re.compile(r"(?:^|[/\\])(?:home|users)[/\\]+([^/\\\s'\":;,|)]+)", re.IGNORECASE)


def redact(text: str, names: Iterable[str] = (), folder: str = "") -> str:
    """The text with placeholders for what is private.

    `names` are words to remove everywhere (user and machine names), `folder` is the session's
    folder: paths below it become relative.
    """
    folder = folder.rstrip("/\\")
    if len(folder) > 1:
        within = rf"{re.escape(folder)}(?:([/\\])|(?![\w.-]))"
        text = re.sub(within, lambda match: "" if match[1] else ".", text)
    for pattern, by in _RULES:
        text = pattern.sub(by, text)
    known = sorted((re.escape(name) for name in names if len(name) >= 3), key=len, reverse=True)
    if known:
        word = rf"(?<![A-Za-z0-9])(?:{'|'.join(known)})(?![A-Za-z0-9])"
        text = re.sub(word, "<name>", text, flags=re.IGNORECASE)
    return text


def user_names(text: str) -> set[str]:
    """The names in a text's paths of home folders, without generic ones."""
    return set(_HOME_OF.findall(text)) - GENERIC_NAMES
