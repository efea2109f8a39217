"""Remove from a text what says who wrote it and where: names, hosts, addresses, keys, mail addresses.

The rules remove more than they must: a candidate's draft is rewritten by hand in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Names that every machine has, and that are also words of commands: `/dev/null` says nothing about a user `dev`.
_GENERIC = "root localhost user users dev node ubuntu debian runner vscode codespace admin app home work build test git ci"
GENERIC_NAMES = frozenset(_GENERIC.split())
_VALUE = r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"&]+)"
# Each rule starts once in a word and never gives back what it took, so that long texts cost linear time.
_SECRET = (
    r"(?<![\w-])(?=[\w-]*?(?:key|token|secret|passw(?:or)?d|pwd|credential|auth|cookie|session))"
)
_KEY_PREFIX = (
    "(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|glpat|xox[a-z]|hf|npm|pypi|github_pat|dop_v1|shpat)[-_]"
)
_LOOPBACK = r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])"
# Top-level names that are file endings as well (rs, py, sh, md, …) are left out: `main.rs` is not a host.
_TOP_LEVEL = (
    "com|net|org|edu|gov|mil|int|io|dev|app|ai|co|cloud|internal|intern|local|localdomain|corp|lan|home|company|"
    "test|example|invalid|onion|info|biz|xyz|tech|online|site|me|eu|de|uk|fr|nl|it|es|ch|at|be|se|no|fi|dk|us|ca|jp|"
    "cn|in|br|au|ru|kr|tw|nz|ie|cz|tv|gg|land|page|systems|network|services|zone|host|run|build"
)
_SOURCE_FILE = (
    r"[\w./-]*\.(?:rs|py|js|ts|tsx|go|c|h|cpp|java|rb|sh|ps1|md|toml|json|ya?ml|txt|log|lock|csv):"
)
_HEX4 = "[0-9a-f]{1,4}"
_HEXES = f"{_HEX4}(?::{_HEX4})*"
_SLASH = r"(?:\\{1,4}|/)"

_KEYS = (
    # First, since a host's name may hold a word such as `pwd`, which would make its port the secret.
    (
        rf"(?<![\w./-])(?!{_LOOPBACK}:|{_SOURCE_FILE})[a-z][\w-]*(?:\.[\w-]+)*:\d{{2,5}}\b",
        "<host>:1",
    ),
    (r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|$)", "<key>"),
    (
        r"\b((?:proxy-)?authorization|x-api-key|api-key|(?:set-)?cookie)(\s*[:=]\s*)[^'\"\n]+",
        r"\1\2<key>",
    ),
    (r"\b(bearer|basic)\s+[\w.~+/=-]+", r"\1 <key>"),
    (rf"{_SECRET}(-[\w-]++[=\s]\s*){_VALUE}", r"\1<key>"),
    (rf"{_SECRET}([\w-]++\s*+[=:]\s*){_VALUE}", r"\1<key>"),
    (rf"(\b(?:curl|wget|https?)\b[^|\n]{{0,200}}?\s(?:-u|--user)[=\s]?\s*){_VALUE}", r"\1<key>"),
    (rf"\b{_KEY_PREFIX}[\w-]{{6,}}", "<key>"),
    (r"\b(?:AKIA|ASIA|AIza)[\w-]{8,}", "<key>"),
    (r"\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?", "<key>"),
)
_ADDRESSES = (
    (r"(?<![a-z0-9+.-])([a-z0-9+.-]++://)[^\s/'\"@]*@", r"\1"),
    (r"(?<![\w.+%-])[\w.+%-]++@[\w-]+(?:\.[\w-]+)+", "<mail>"),
    (r"(?<![\w.-])[\w.-]++@[\w.-]+", "<user>@<host>"),
    (
        rf"(?<![a-z0-9+.-])((?!file:)[a-z0-9+.-]++://)(?!{_LOOPBACK}(?![\w.-]))(?:\[[^\]]*\]|[^\s/:'\"?#]+)",
        r"\1<host>",
    ),
    (r"(://[^\s'\"?#]{0,500}+)[?#][^\s'\"]*", r"\1"),
    (
        r"(?<!\d)(?<!\d\.)(?!127\.0\.0\.1(?!\d)|0\.0\.0\.0(?!\d))\d{1,3}(?:\.\d{1,3}){3}(?!\d)",
        "<ip>",
    ),
    (rf"(?<![\w:])(?:{_HEX4}:){{5,7}}{_HEX4}(?!\w|:\w)", "<ip>"),
    (rf"(?<![\w:])(?!::1(?!\w|:\w))(?:{_HEXES})?::(?:{_HEXES})?(?!\w|:\w)", "<ip>"),
    (rf"(?<![\w<.-])(?:[\w-]+\.)+(?:{_TOP_LEVEL})\b(?![\w-])(?!\.\w)", "<host>"),
)
_PLACES = (
    (
        rf"(?:[a-z]:)?{_SLASH}(?:mnt{_SLASH}[a-z]{_SLASH})?(?:home|users){_SLASH}[^\s\\/'\":;,|)]+",
        "~",
    ),
    (r"(?<![\w/])/root(?=[/\s'\":;]|$)", "~"),
    (r"(?<![\w/~])~[a-z_][\w.-]*", "~"),
    (r"-(?:home|users)-[a-z0-9_]+(?=-)", "-home"),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>"),
    (r"\b[0-9a-f]{16,}\b", "<hex>"),
)
_RULES = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), by)
    for pattern, by in (*_KEYS, *_ADDRESSES, *_PLACES)
)
_LONG_WORD = re.compile(r"[A-Za-z0-9_+=-]{20,}")
_HOME_OF = re.compile(r"(?:^|[/\\])(?:home|users)[/\\]+([^/\\\s'\":;,|)]+)", re.IGNORECASE)


def redact(text: str, names: Iterable[str] = (), folder: str = "") -> str:
    """The text with placeholders for what is private.

    `names` are words to remove everywhere (user and machine names), `folder` is the session's
    folder: paths below it become relative.
    """
    folder = folder.rstrip("/\\")
    if len(folder) > 1:
        text = re.sub(
            rf"{re.escape(folder)}(?:([/\\])|(?![\w.-]))",
            lambda match: "" if match[1] else ".",
            text,
        )
    for pattern, by in _RULES:
        text = pattern.sub(by, text)
    text = _LONG_WORD.sub(_token, text)
    for name in sorted({name for name in names if len(name) >= 3}, key=len, reverse=True):
        text = re.sub(
            rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])",
            "<name>",
            text,
            flags=re.IGNORECASE,
        )
    return text


def user_names(text: str) -> set[str]:
    """The names in a text's paths of home folders, without generic ones."""
    return set(_HOME_OF.findall(text)) - GENERIC_NAMES


def _token(match: re.Match[str]) -> str:
    """A long word with digits among its letters is a key; words joined by dashes or underscores are not."""
    word = match[0]
    mixed = re.search(r"\d", word) and re.search(r"[A-Za-z]", word)
    longest = max((len(part) for part in re.split(r"[-_=]", word)), default=0)
    return "<key>" if mixed and longest >= 12 else word
