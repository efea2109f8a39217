"""What a command is for, if it only reads. What it does not know, it takes to change something."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from fluency.core import grammar
from fluency.core.shells import SHELLS
from fluency.miner.transcripts import ShellRequest

_STEPS = {
    "list": "find fd fdfind ls tree dir get-childitem gci",
    "measure": "stat du file get-item gi test-path basename dirname realpath readlink resolve-path",
    "hash": "sha256sum sha1sum md5sum cksum shasum get-filehash",
    "search": "grep egrep fgrep rg ag ack select-string sls",
    "read": "cat bat nl tac get-content gc strings",
    "count": "wc measure-object measure",
    "sort": "sort sort-object",
    "group": "uniq group-object group get-unique",
    "take": "head tail select-object select",
    "reshape": "awk gawk mawk sed cut tr paste column fold rev foreach-object foreach % join-string"
    " format-table ft",
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

_AWK = re.compile(r"(?s).*(?:system\s*\(|getline|print[^;}]*[>|])|-(?:f|i|-)")
_WEB = re.compile(r"(?i)-(outfile|method|body|infile|form|custommethod)")
_HTTPIE = re.compile(r"(?i)post$|put$|patch$|delete$|.*:?=|--(download|form)")
_WRITES = {
    "awk": _AWK,
    "gawk": _AWK,
    "mawk": _AWK,
    "sed": re.compile(r"(?s)-[a-zA-Z]*[if]|--(in-place|file)|(.*[;/}\d$\n])?\s*[gpIm]*[wWe](\s|$)"),
    "find": re.compile(r"-(delete|fprint0?|fprintf|fls)$"),
    "fd": re.compile(r"-[a-zA-Z]*[xX]|--exec"),
    "sort": re.compile(r"-[a-zA-Z]*o|--(output|compress)"),
    "tree": re.compile(r"-o"),
    "rg": re.compile(r"--pre"),
    "diff": re.compile(r"--output"),
    "file": re.compile(r"-C|--compile"),
    "yq": re.compile(r"-i|--inplace"),
    "ss": re.compile(r"-[a-zA-Z]*K|--kill"),
    "fuser": re.compile(r"-[a-zA-Z]*k|--kill"),
    "curl": re.compile(
        r"-[a-zA-Z]*[oOdFTXKcD]|--(output|data|form|upload|remote|request|json|config|cookie-jar"
        r"|dump|trace|libcurl|hsts)"
    ),
    "wget": re.compile(r"--(post|body|method|input|mirror|recursive|output-document=?[^-])|-[irm]"),
    "http": _HTTPIE,
    "https": _HTTPIE,
    "date": re.compile(r"-s|--set"),
    "invoke-webrequest": _WEB,
    "iwr": _WEB,
    "invoke-restmethod": _WEB,
    "irm": _WEB,
    # A block is in the tree; a name may be a property, which is read, or a method, which is called.
    "foreach-object": re.compile(
        r"(?i)(?!\{|(-begin|-process|-end|(full|base)?name|length|line)$)"
    ),
}
_WRITES |= dict.fromkeys(("foreach", "%"), _WRITES["foreach-object"])
_WRITES["fdfind"] = _WRITES["fd"]
_REDIRECT = re.compile(r"(?<![-=<0-9&])[0-9&]?>{1,2}(?!&)\s*(?!/dev/null\b|\$null\b)\S")
_PURE_METHODS = (
    "contains endswith indexof padleft padright replace split startswith substring tostring trim"
)
_PWSH_ACTS = re.compile(
    rf"(?i)::|\.\w+\s*[-+*/%]?=(?!=)|\.(?!(?:{_PURE_METHODS.replace(' ', '|')})\()\w+\("
)
_QUOTED = re.compile(r"'[^']*+'|\"(?:\\.|[^\"\\])*+\"")
_CD = re.compile(
    r"(?i)\s*(?:cd|Set-Location)\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*", re.IGNORECASE
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
    """Why a command is not a candidate."""

    why: str


def intent_of(shell: str, command: str) -> Intent | Rejected:
    """Return the intent of a single read-only command or pipeline. An unknown shell is read as Bash."""
    if not is_single(command):
        return Rejected("more than one command")
    dialect = SHELLS[shell].grammar if shell in SHELLS else grammar.BASH
    parsed = grammar.parse(dialect, command)
    if not parsed.parses or not parsed.calls:
        return Rejected("does not parse")
    bare = _QUOTED.sub("''", command)
    if _REDIRECT.search(bare):
        return Rejected("writes a file")
    if parsed.has_dynamic_calls or (dialect == grammar.POWERSHELL and _PWSH_ACTS.search(bare)):
        return Rejected("may change something")
    steps: list[str] = []
    within: set[str] = set()
    for call in parsed.calls:
        inner = _inner(_plain(call.name), call.arguments)
        for name, arguments in ((_plain(call.name), call.arguments), *inner):
            step = STEP_OF.get(name)
            if step is None:
                return Rejected("runs something else")
            if _changes(name, arguments):
                return Rejected("may change something")
            if step and steps[-1:] != [step]:
                steps.append(step)
        within |= {STEP_OF[name] for name, _ in inner}
    if not steps:
        return Rejected("asks for nothing")
    return Intent(_category(steps, within), tuple(steps[:5]))


def without_cd(command: str) -> str:
    """Return the command without a leading `cd somewhere &&`, which agents put first."""
    found = _CD.match(command)
    return command[found.end() if found else 0 :].strip()


def is_single(command: str) -> bool:
    """Return whether a text is one command or pipeline: no separator outside of quotes and groups."""
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
    """Return whether a second command begins here; `2>&1` and `&>` only redirect."""
    if command[at] == "&":
        return command[at - 1 : at] != ">" and not command.startswith("&>", at)
    return command[at] in ";\n" or command.startswith("||", at)


def _category(steps: list[str], within: set[str]) -> str:
    if "fetch" in steps:
        return "network-fetch"
    if _OF_PROCESSES & set(steps):
        return "process-introspection"
    return "file-inspection" if steps[0] in _OF_FILES and within <= _OF_FILES else "text-processing"


def _plain(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower()


def _inner(name: str, arguments: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the commands that xargs and find -exec run."""
    if name == "find":
        starts = [at + 1 for at, word in enumerate(arguments) if re.match("-(exec|ok)", word)]
    elif name == "xargs":
        takes_value = {"-n", "-I", "-P", "-d", "-L", "-s", "-E", "-a"}
        at = 0
        while at < len(arguments) and arguments[at].startswith("-"):
            at += 2 if arguments[at] in takes_value else 1
        starts = [at]
    else:
        return []
    return [(_plain(arguments[at]), arguments[at + 1 :]) for at in starts if at < len(arguments)]


def _changes(name: str, arguments: tuple[str, ...]) -> bool:
    text = " ".join(arguments)
    if name == "curl":  # two common pairs: the body thrown away, the default method
        arguments = tuple(text.replace("-o /dev/null", "").replace("-X GET", "").split())
    if name == "wget" and not re.search(r"(?:^|\s)(-[a-zA-Z]*O\s*|--output-document[= ])-", text):
        return True
    if name == "uniq" and sum(not argument.startswith("-") for argument in arguments) > 1:
        return True  # its second operand is its output
    rule = _WRITES.get(name)
    return rule is not None and any(rule.match(argument) for argument in arguments)


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
        """Count a request, and keep it as an example if its command is new and it is among the best."""
        self.count += 1
        self.succeeded += request.ok is True
        self.shells[request.shell] += 1
        if request.command not in {example.command for example in self.examples}:
            self.examples.append(request)
            self.examples.sort(key=_example_rank)
            del self.examples[EXAMPLES:]


def _example_rank(request: ShellRequest) -> tuple[object, ...]:
    """Order by success, a description, and length; the texts make the order definite."""
    length = len(request.text)
    return request.ok is not True, not request.described, length, request.text, request.command
