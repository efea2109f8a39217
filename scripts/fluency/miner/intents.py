"""What a command is for, and requests grouped by it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from fluency.core.grammar import Call, parse
from fluency.core.shells import SHELLS
from fluency.miner.transcripts import ShellRequest

_STEPS = {
    "list": "find fd fdfind ls tree dir get-childitem gci",
    "measure": "stat du file get-item gi test-path basename dirname realpath readlink resolve-path",
    "hash": "sha256sum sha1sum md5sum cksum shasum get-filehash",
    "search": "grep egrep fgrep rg ag ack select-string sls",
    "read": "cat bat nl tac head-of get-content gc strings",
    "count": "wc measure-object measure",
    "sort": "sort sort-object",
    "group": "uniq group-object group get-unique",
    "take": "head tail select-object select",
    "reshape": "awk gawk mawk sed cut tr paste column fold rev foreach-object foreach % join-string format-table ft",
    "filter": "where-object where ?",
    "json": "jq yq convertfrom-json convertto-json import-csv convertfrom-csv",
    "compare": "diff comm cmp join compare-object",
    "processes": "ps pgrep pstree pidof get-process gps",
    "ports": "ss lsof netstat fuser get-nettcpconnection",
    "load": "uptime free vmstat",
    "fetch": "curl wget http https invoke-webrequest iwr invoke-restmethod irm",
    "": "echo printf date true test [ pwd xargs write-output get-date",
}
STEP_OF = {program: step for step, programs in _STEPS.items() for program in programs.split()}
_OF_FILES = {"list", "measure", "hash"}
_OF_PROCESSES = {"processes", "ports", "load"}
_WRITES = {
    "sed": re.compile(r"-[a-zA-Z]*i|--in-place"),
    "find": re.compile(r"-(delete|fprint0?|fprintf|fls)$"),
    "sort": re.compile(r"-o|--output"),
    "yq": re.compile(r"-i|--inplace"),
    "curl": re.compile(
        r"-[a-zA-Z]*[oOdFTXK]|--(output|data|form|upload|remote|request|json|config|cookie-jar)"
    ),
    "wget": re.compile(r"--(post|body|method|input-file|mirror|recursive)|-[irm]"),
    "http": re.compile(r"(?i)post$|put$|patch$|delete$|.*:?=|--(download|form)"),
    "invoke-webrequest": re.compile(r"(?i)-(outfile|method|body|infile|form)"),
    "date": re.compile(r"-s|--set"),
}
_WRITES |= {"iwr": _WRITES["invoke-webrequest"], "irm": _WRITES["invoke-webrequest"]}
_WRITES |= {"invoke-restmethod": _WRITES["invoke-webrequest"], "https": _WRITES["http"]}
_WGET_TO_STDOUT = re.compile(r"-[a-zA-Z]*O-?$|--output-document")
_REDIRECT = re.compile(r"(?<![-=<0-9&])[0-9&]?>{1,2}(?!&)\s*(?!/dev/null\b|\$null\b)\S")
_CD = re.compile(
    r"^\s*(?:cd|Set-Location)\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*", re.IGNORECASE
)


class Intent(NamedTuple):
    """A category of the task bank and the steps of a pipeline."""

    category: str
    steps: tuple[str, ...]

    @property
    def slug(self) -> str:
        """The name of a candidate with this intent."""
        return "-".join((self.category.split("-")[0], *self.steps))


class Rejected(NamedTuple):
    """Why a command is no candidate."""

    why: str


def intent_of(shell: str, command: str) -> Intent | Rejected:
    """The intent of a single read-only command or pipeline, or why it has none of the four categories."""
    if not is_single(command):
        return Rejected("more than one command")
    parsed = parse(SHELLS[shell].grammar, command)
    if not parsed.parses or not parsed.calls:
        return Rejected("does not parse")
    if _redirects(command):
        return Rejected("writes a file")
    steps: list[str] = []
    runs_text_tool = False
    for call in parsed.calls:
        inner = _inner(call)
        for name, arguments in ((call.name, call.arguments), *inner):
            name = _plain(name)
            step = STEP_OF.get(name)
            if step is None:
                return Rejected("runs something else")
            if _changes(name, arguments):
                return Rejected("changes something")
            if step and (not steps or steps[-1] != step):
                steps.append(step)
        runs_text_tool |= any(STEP_OF.get(_plain(name)) not in _OF_FILES for name, _ in inner)
    if not steps:
        return Rejected("asks for nothing")
    return Intent(_category(steps, runs_text_tool), tuple(steps[:5]))


def without_cd(command: str) -> str:
    """The command less a leading `cd somewhere &&`, which agents put before everything."""
    return _CD.sub("", command, count=1).strip()


def is_single(command: str) -> bool:
    """Whether a text is one command or pipeline: no `;`, `&&`, `||`, `&` or line break outside of quotes."""
    depth, quote, at = 0, "", 0
    while at < len(command):
        sign = command[at]
        if sign == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "({":
            depth += 1
        elif sign in ")}":
            depth -= 1
        elif depth <= 0 and _separates(command, at):
            return False
        at += 1
    return bool(command.strip())


def _separates(command: str, at: int) -> bool:
    """Whether a second command begins here; `2>&1` and `&>` only redirect."""
    if command[at] == "&":
        return command[at - 1 : at] != ">" and not command.startswith("&>", at)
    return command[at] in ";\n" or command.startswith("||", at)


def _category(steps: list[str], runs_text_tool: bool) -> str:
    if "fetch" in steps:
        return "network-fetch"
    if _OF_PROCESSES & set(steps):
        return "process-introspection"
    return "file-inspection" if steps[0] in _OF_FILES and not runs_text_tool else "text-processing"


def _plain(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower()


def _inner(call: Call) -> list[tuple[str, tuple[str, ...]]]:
    """The commands that xargs and find -exec run."""
    arguments = call.arguments
    if _plain(call.name) == "xargs":
        for at, argument in enumerate(arguments):
            if _plain(argument) in STEP_OF and not argument.startswith("-"):
                return [(argument, arguments[at + 1 :])]
        return (
            [("rm", ())]
            if any(not a.startswith("-") and not a.isdigit() for a in arguments)
            else []
        )
    if _plain(call.name) == "find":
        starts = [
            at
            for at, word in enumerate(arguments)
            if word in ("-exec", "-execdir", "-ok", "-okdir")
        ]
        return [
            (arguments[at + 1], arguments[at + 2 :]) for at in starts if at + 1 < len(arguments)
        ]
    return []


def _changes(name: str, arguments: tuple[str, ...]) -> bool:
    rule = _WRITES.get(name)
    if name == "wget" and not any(_WGET_TO_STDOUT.match(argument) for argument in arguments):
        return True
    if name == "curl":
        # Two common pairs only throw the body away or name the method that is the default anyway.
        arguments = tuple(
            re.sub(r"\s+", " ", " ".join(arguments)).replace("-o /dev/null", "").split()
        )
        arguments = tuple(" ".join(arguments).replace("-X GET", "").split())
    return rule is not None and any(rule.match(argument) for argument in arguments)


def _redirects(command: str) -> bool:
    bare = re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", "''", command)
    return _REDIRECT.search(bare) is not None


EXAMPLES = 5


@dataclass
class Cluster:
    """All requests of one intent."""

    intent: Intent
    count: int = 0
    succeeded: int = 0
    shells: Counter[str] = field(default_factory=Counter)
    examples: list[ShellRequest] = field(default_factory=list)

    def add(self, request: ShellRequest) -> None:
        """Count a request, and keep it as an example if it is among the best and its command is new."""
        self.count += 1
        self.succeeded += request.ok is True
        self.shells[request.shell] += 1
        if request.command not in {example.command for example in self.examples}:
            self.examples.append(request)
            self.examples.sort(key=_example_rank)
            del self.examples[EXAMPLES:]


def _example_rank(request: ShellRequest) -> tuple[object, ...]:
    """Successful before unknown, described before prompted, short before long; the rest makes it definite."""
    return (
        request.ok is not True,
        not request.described,
        len(request.text),
        request.text,
        request.command,
    )
