"""What a command is for, if it only reads. What it does not know, it takes to change something."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import yaml

from fluency.core import grammar
from fluency.core.shells import SHELLS, Grammar
from fluency.scoring.commands import calls_of

_LISTS = yaml.safe_load(Path(__file__).with_name("programs.yaml").read_text(encoding="utf-8"))
STEP_OF = {name: step for step, names in _LISTS["steps"].items() for name in names.split()}
_WRITES = {
    name: re.compile(pattern)
    for names, pattern in _LISTS["writes"].items()
    for name in names.split()
}
_OF_FILES = {"list", "measure", "hash"}
_OF_PROCESSES = {"processes", "ports", "load"}
_REDIRECT = re.compile(r"(?<![-=<0-9&])[0-9&]?>{1,2}(?!&)\s*(?!/dev/null\b|\$null\b)\S")
_PURE_METHODS = (
    "contains|endswith|indexof|padleft|padright|replace|split|startswith|substring|tostring|trim"
)
_PWSH_ACTS = re.compile(rf"(?i)::|\.\w+\s*[-+*/%]?=(?!=)|\.(?!(?:{_PURE_METHODS})\()\w+\(")
_QUOTED = re.compile(r"'[^']*+'|\"(?:\\.|[^\"\\])*+\"")
_CD = re.compile(
    r"\A\s*(?:cd|Set-Location)\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*", re.IGNORECASE
)


class Intent(NamedTuple):
    """A category of the task bank, and a name made of it and the steps of a pipeline."""

    category: str
    slug: str


def intent_of(shell: str, command: str) -> Intent | str:
    """The intent of a single read-only command or pipeline, else why it has none.

    A command of an unknown shell is read as Bash.
    """
    dialect = SHELLS[shell].grammar if shell in SHELLS else grammar.BASH
    parsed = grammar.parse(dialect, command)
    if dialect is None or not parsed.parses or not parsed.calls:
        return "does not parse"
    if not is_single(dialect, command):
        return "more than one command"
    bare = _QUOTED.sub("''", command)
    if _REDIRECT.search(bare):
        return "writes a file"
    if parsed.has_dynamic_calls or (dialect == grammar.POWERSHELL and _PWSH_ACTS.search(bare)):
        return "may change something"
    steps: list[str] = []
    within: set[str] = set()
    for call in parsed.calls:
        for number, made in enumerate(calls_of(call, dialect)):
            name = made.name.rsplit("/", 1)[-1].lower()
            step = STEP_OF.get(name)
            if step is None:
                return "runs something else"
            # What starts an argument, or, with a line break before each, what all of them say.
            said = (*made.arguments, "\n".join(("", *made.arguments)))
            if (rule := _WRITES.get(name)) and any(map(rule.match, said)):
                return "may change something"
            if step and steps[-1:] != [step]:
                steps.append(step)
            if number:  # by xargs or find
                within.add(step)
    if not steps:
        return "asks for nothing"
    category = "text-processing"
    if "fetch" in steps:
        category = "network-fetch"
    elif not _OF_PROCESSES.isdisjoint(steps):
        category = "process-introspection"
    elif steps[0] in _OF_FILES and within <= _OF_FILES:
        category = "file-inspection"
    return Intent(category, "-".join((category.split("-")[0], *steps[:5])))


def without_cd(command: str) -> str:
    """The command without a leading `cd somewhere &&`, which agents put first."""
    return _CD.sub("", command).strip()


def is_single(dialect: Grammar, command: str) -> bool:
    """Whether a text is one command or pipeline."""
    node = grammar.syntax_tree(dialect, command.encode()).root_node
    # PowerShell's tree has a list around every pipeline, and a chain within it.
    while len(node.children) == 1 and node.type in ("program", "statement_list", "pipeline"):
        node = node.children[0]
    kinds = ("command", "redirected_statement", "pipeline", "pipeline_chain")
    return node.type in kinds and "pipeline_chain_tail" not in {
        child.type for child in node.children
    }
