"""Names the worlds draw from, read from names.yaml: words parted by blanks, in the order that the worlds depend on."""

from __future__ import annotations

from pathlib import Path

import yaml

_WORDS = {
    kind: tuple(words.split())
    for kind, words in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")).items()
}
ALWAYS = _WORDS["always"]
OTHERS = _WORDS["others"]
THIRD_PARTY = _WORDS["third_party"]
COMMANDS = _WORDS["commands"]
TOOLS = _WORDS["tools"]
QUEUES = _WORDS["queues"]
