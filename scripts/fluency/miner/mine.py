"""Find transcripts, collect requests, write them as candidates and a table of them."""

import os
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2
import yaml

from fluency.common.data_file import data_file
from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.terminal import print_lines
from fluency.core.shells import SHELLS
from fluency.core.tasks import CATEGORIES
from fluency.miner.intents import KINDS, Intent, intent_of, without_cd
from fluency.miner.transcripts import RULES, ShellRequest, documents_of, first, requests_in

LONGEST_PROMPT = 600
LONGEST_COMMAND = 2000
CANDIDATES_A_KIND = 10
EXAMPLES = 5
OUTPUT_LINES = 5
_TABLE = jinja2.Template(
    Path(__file__).with_name("table.md.j2").read_text(encoding="utf-8"),
    trim_blocks=True,
    lstrip_blocks=True,
)
_PRIVATE = data_file(__file__, "redact.yaml")
_PARTS = _PRIVATE["parts"]
_RULES = [
    (re.compile(re.sub("<([A-Z_0-9]+)>", lambda name: _PARTS[name[1]], rule), re.I | re.S), by)
    for rule, by in _PRIVATE["rules"]
]
GENERIC_NAMES = frozenset(_PRIVATE["generic"].split())
_HOME_OF = re.compile(r"(?i)(?:^|[/\\])(?:home|users)[/\\]+([^/\\\s'\":;,|)]+)")


class Report:
    """What was read and what came of it.

    Attributes:
        tally: the files and commands read, and what was skipped.
        rejected: the number of commands that are not candidates, by the reason.
        errors: the shells of failed calls, by the cause.
        candidates: what is written of each question, for the table too.
        skipped: the files that are not transcripts.
        page: the table of all this.
    """

    def __init__(self) -> None:
        self.tally, self.rejected = Counter[str](), Counter[str]()
        self.errors = defaultdict[str, Counter[str]](Counter)
        self.candidates, self.skipped = list[dict[str, Any]](), list[UserError]()
        self.page = ""


def main(logs: Sequence[Path], out: Path) -> int:
    """`make mine`: mine the given places, or the agents' usual ones."""
    given = shlex.split(" ".join(map(str, logs)))  # LOGS, paths separated by blanks
    places = [Path(part).expanduser() for part in given if part != "."] or default_places()
    named = ", ".join(map(str, places)) or "nothing: no agent has transcripts in its usual place"
    print_lines([f"mine: reading {named}"])
    _, said, _ = mine(places, out).page.split("\n\n", 2)
    print_lines([*said.splitlines(), f"The table of the questions is {out / 'README.md'}"])
    return 0


def mine(paths: Sequence[Path], out: Path) -> Report:
    """Read all transcripts at and below `paths`, and write candidates and their table into `out`.

    Memory grows with the commands, not with the size of the transcripts.

    Raises:
        UserError: no transcript has a shell command, or a named file is something else.
    """
    report, seen = Report(), set[int]()
    # This user's and this machine's names are removed everywhere.
    machine, user = os.uname().nodename, os.environ.get("USER", "")
    names = {machine, machine.split(".")[0], Path.home().name, user} - GENERIC_NAMES
    found: dict[Intent, list[ShellRequest]] = defaultdict(list)
    asked: dict[str, Intent] = {}
    for path in _files(paths):
        before = len(seen)
        try:
            requests = list(requests_in(documents_of(path, report.tally)))
        except UserError as error:
            if path in paths:
                raise
            report.skipped.append(error)
            continue
        for request in requests:
            key = hash((request.call_id, request.command))
            if key in seen:
                continue
            seen.add(key)
            names |= user_names(f"{request.folder}\n{request.command}\n{request.text}")
            intent = _intent_or_reason(request, report.errors)
            if isinstance(intent, str):
                report.rejected[intent] += 1
            else:
                # A sentence is one question, however each shell answers it.
                sentence = " ".join(re.findall(r"\w+", request.text.casefold()))
                found[asked.setdefault(sentence, intent)].append(request)
        report.tally["files"] += len(seen) > before
    report.tally["commands"] = len(seen)
    if not seen:
        raise UserError(
            "no file has a shell command of an agent",
            where=" ".join(map(str, paths)),
            hint="name the transcripts' folder, such as LOGS=~/.claude/projects (docs/mining.md)",
        )
    often = sorted(found, key=lambda intent: (-len(found[intent]), intent))
    for kind in dict.fromkeys((*CATEGORIES, *KINDS)):
        for intent in [one for one in often if one.category == kind][:CANDIDATES_A_KIND]:
            made = candidate(intent, found[intent], names)
            words = "-".join(re.findall("[a-z0-9]+", made["question"].lower())[:6])
            made["file"] = f"{len(report.candidates) + 1:02}-{words[:50]}.yaml"
            report.candidates.append(made)
            text = yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=110)
            write_atomic(out / made["file"], text)
    report.page = _TABLE.render(report=report, shells=SHELLS, kinds=KINDS, out=out)
    write_atomic(out / "README.md", f"{report.page}\n")
    return report


def default_places() -> list[Path]:
    """The existing places where agents keep their transcripts."""
    return [
        place
        for variable, folder, below in RULES["places"]
        if (place := Path(os.environ.get(variable) or folder).expanduser() / below).exists()
    ]


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield all files that could be transcripts, in a fixed order; links are not followed."""
    for path in paths:
        if not path.exists():
            raise UserError(
                "no such file or folder",
                where=str(path),
                hint="check LOGS=…, and quote a path with blanks",
            )
        for file in [path, *sorted(path.rglob("*.*"))]:
            could_be = path == file or (file.suffix in RULES["suffixes"] and not file.is_symlink())
            if could_be and file.is_file():
                yield file


def _intent_or_reason(request: ShellRequest, errors: dict[str, Counter[str]]) -> Intent | str:
    """What a request is for, or why it is not a candidate; a failed one is counted in `errors`.

    A leading `cd` is removed.
    """
    if len(request.command) > LONGEST_COMMAND:
        return "too long"
    request.command = without_cd(request.command)
    intent = intent_of(request.shell, request.command)
    if request.ok is False:
        kind = intent.category if isinstance(intent, Intent) else ""
        errors[first(RULES["causes"], request.output, kind)][request.shell] += 1
        return "failed"
    if not request.text:
        return "one of several for its prompt"
    return "its prompt is too long" if len(request.text) > LONGEST_PROMPT else intent


def candidate(intent: Intent, requests: Sequence[ShellRequest], names: set[str]) -> dict[str, Any]:
    """What is kept of a question: successful requests come first, then the shortest."""
    found = defaultdict[str, dict[str, None]](dict)
    for request in sorted(requests, key=lambda r: (not r.ok, len(r.text), r.text, r.command)):
        output = re.sub(RULES["frame"], "", request.output).splitlines()[:OUTPUT_LINES]
        said = {"text": request.text, request.shell: request.command, "output": "\n".join(output)}
        for name, private in said.items():
            if text := redact(private, names, request.folder):
                found[name][text] = None
    question, *others = found.pop("text")
    outputs = list(found.pop("output", {}))
    return {
        "question": question,
        "category": intent.category,
        "shells": dict(Counter(request.shell for request in requests)),
        "other_wordings": others[:EXAMPLES],
        "commands": {shell: list(commands)[:EXAMPLES] for shell, commands in found.items()},
        "output": outputs[:1],
    }


def redact(text: str, names: Iterable[str] = (), folder: str = "") -> str:
    """The text with placeholders for what says who wrote it and where: names, hosts, keys.

    It removes more than it must: a draft is rewritten by hand in any case.

    `names` are words to remove everywhere (user and machine names), `folder` is the session's
    folder: paths below it become relative.
    """
    folder = folder.rstrip("/\\")
    if len(folder) > 1:
        within = rf"{re.escape(folder)}(?:([/\\])(?=[^\s'\"])|(?![\w.-]))"
        text = re.sub(within, lambda match: "" if match[1] else ".", text)
    for pattern, by in _RULES:
        text = pattern.sub(by, text)
    if known := sorted((re.escape(name) for name in names if len(name) > 2), key=len, reverse=True):
        word = rf"(?<![A-Za-z0-9])(?:{'|'.join(known)})(?![A-Za-z0-9])"
        text = re.sub(word, "<name>", text, flags=re.IGNORECASE)
    return text


def user_names(text: str) -> set[str]:
    """The names in a text's paths of home folders, without generic ones."""
    return set(_HOME_OF.findall(text)) - GENERIC_NAMES
