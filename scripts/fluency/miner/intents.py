"""What a command is for."""

import re
from typing import NamedTuple

from fluency.common.data_file import data_file
from fluency.core import grammar
from fluency.core.shells import SHELLS
from fluency.core.tasks import CATEGORIES
from fluency.scoring.commands import calls_of

_LISTS = data_file(__file__, "programs.yaml")
STEP_OF = {name: step for step, names in _LISTS["steps"].items() for name in names.split()}
_WRITES = {
    name: re.compile(pattern)
    for names, pattern in _LISTS["writes"].items()
    for name in names.split()
}
KINDS: dict[str, dict[str, str]] = _LISTS["kinds"]
"""The bank's categories, and what it cannot ask or not as a question; `asks` says it."""
_IS = {name: re.compile(pattern) for name, pattern in _LISTS["patterns"].items()}


class Intent(NamedTuple):
    """One of `KINDS`, and the steps of a pipeline."""

    category: str
    steps: str


def intent_of(shell: str, command: str) -> Intent | str:
    """What a command is for, else why that is not known.

    A command of an unknown shell is read as Bash.
    """
    dialect = SHELLS[shell].grammar if shell in SHELLS else grammar.BASH
    parsed = grammar.parse(dialect, command)
    if dialect is None or not parsed.parses or not parsed.calls:
        return "does not parse"
    bare = _IS["quoted"].sub("''", command)
    if parsed.has_dynamic_calls or (dialect == grammar.POWERSHELL and _IS["acts"].search(bare)):
        return "may change something"
    steps = ["=write"] * bool(_IS["redirect"].search(bare))
    for call in parsed.calls:
        for number, made in enumerate(calls_of(call, dialect)):
            name = made.name.rsplit("/", 1)[-1].lower()
            step = STEP_OF.get(name, "?")
            if step in ("git", "build", "?"):
                words = (word for word in made.arguments if re.fullmatch("[a-z][a-z-]+", word))
                step = f"={step} {name} {next(words, '')}".strip()
            # What starts an argument, or, with a line break before each, what all of them say.
            said = (*made.arguments, "\n".join(("", *made.arguments)))
            if (rule := _WRITES.get(name)) and any(map(rule.match, said)):
                step = f"=write {step}"
            if step and number:  # by xargs or find
                step = f">{step}"
            if step and steps[-1:] != [step]:
                steps.append(step)
    line = " ".join(steps[:6])
    kind = next(kind for kind, rule in KINDS.items() if re.search(rule["is"], " ".join(steps)))
    if kind in CATEGORIES and _IS["several"].search(bare):
        return "more than one command"
    return Intent(kind, line) if line else "asks for nothing"


def without_cd(command: str) -> str:
    """The command without a leading `cd somewhere &&`, which agents put first."""
    return _IS["cd"].sub("", command).strip()
