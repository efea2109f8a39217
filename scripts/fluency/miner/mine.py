"""Find transcripts, collect requests, write drafts of tasks and a table of them."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import yaml

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.terminal import print_lines
from fluency.core.shells import SHELLS
from fluency.core.tasks import CATEGORIES
from fluency.miner.intents import Intent, intent_of, without_cd
from fluency.miner.transcripts import ShellRequest, documents_of, requests_in

LONGEST_PROMPT = 600
LONGEST_COMMAND = 2000
CANDIDATES_A_CATEGORY = 10
EXAMPLES = 5
_TABLE = Path(__file__).with_name("table.md.j2").read_text(encoding="utf-8")
_PRIVATE = yaml.safe_load(Path(__file__).with_name("redact.yaml").read_text(encoding="utf-8"))
_PARTS = _PRIVATE["parts"]
_RULES = [
    (re.compile(re.sub("<([A-Z_0-9]+)>", lambda name: _PARTS[name[1]], rule), re.I | re.S), by)
    for rule, by in _PRIVATE["rules"]
]
GENERIC_NAMES = frozenset(_PRIVATE["generic"].split())
_HOME_OF = re.compile(r"(?i)(?:^|[/\\])(?:home|users)[/\\]+([^/\\\s'\":;,|)]+)")
_HEAD = """\
# A draft from your transcripts, not a task: while it says `draft: true`, it is refused.
# To make it one: rewrite the prompt so that it names no shell and states the output format, build
# what it needs into a world, write answer.py, references and wrong commands for both shells
# (docs/adding-a-task.md), and move the folder to tasks/. The commands below are what an agent ran:
# never take one's output as the expected answer.
"""


@dataclass
class Report:
    """What was read and what came of it.

    Attributes:
        tally: the files and commands read, and what was skipped.
        categories: the number of accepted commands of each category.
        rejected: the number of the other commands, by the reason.
        candidates: the requests of each intent that became a candidate.
    """

    tally: Counter[str]
    categories: Counter[str]
    rejected: Counter[str]
    candidates: dict[Intent, list[ShellRequest]]

    def text(self) -> str:
        """The report in sentences."""
        tally = self.tally
        return (
            f"Files with shell commands: {tally['files']} (skipped: {tally['malformed lines']} "
            f"malformed or overlong lines, {tally['unreadable files']} unreadable files).\n"
            f"Shell commands found: {tally['commands']}; single, read-only and with a request: "
            f"{self.categories.total()}."
        )


def main(logs: Sequence[Path], out: Path) -> int:
    """`make mine`: mine the given places, or the agents' usual ones."""
    parts: list[str] = []
    for given in map(str, logs):  # LOGS, one path or several separated by blanks
        parts += [given] if Path(given).exists() else shlex.split(given)
    places = [Path(part).expanduser() for part in parts if part != "."] or default_places()
    named = ", ".join(map(str, places)) or "nothing: no agent has transcripts in its usual place"
    print_lines([f"mine: reading {named}"])
    report = mine(places, out)
    found = f"{len(report.candidates)} candidates; the table of them is {out / 'README.md'}"
    print_lines([*report.text().splitlines(), found])
    return 0


def mine(paths: Sequence[Path], out: Path) -> Report:
    """Read all transcripts at and below `paths`, and write candidates and their table into `out`.

    Memory grows with the commands, not with the size of the transcripts.

    Raises:
        UserError: no transcript has a shell command.
    """
    report, seen = Report(Counter(), Counter(), Counter(), {}), set[int]()
    # This user's and this machine's names are removed everywhere.
    machine, user = os.uname().nodename, os.environ.get("USER", "")
    names = {machine, machine.split(".")[0], Path.home().name, user} - GENERIC_NAMES
    found: dict[Intent, list[ShellRequest]] = defaultdict(list)
    for path in _files(paths):
        before = len(seen)
        for request in requests_in(documents_of(path, report.tally)):
            key = hash((request.call_id, request.command))
            if key in seen:
                continue
            seen.add(key)
            names |= user_names(f"{request.folder}\n{request.command}\n{request.text}")
            intent = _intent_or_reason(request)
            if isinstance(intent, str):
                report.rejected[intent] += 1
            else:
                report.categories[intent.category] += 1
                found[intent].append(request)
        report.tally["files"] += len(seen) > before
    report.tally["commands"] = len(seen)
    if not seen:
        raise UserError(
            "no file has a shell command of an agent",
            where=" ".join(map(str, paths)),
            hint="name the transcripts' folder, such as LOGS=~/.claude/projects (docs/mining.md)",
        )
    often = sorted(found, key=lambda intent: (-len(found[intent]), intent))
    for category in CATEGORIES:
        for intent in [one for one in often if one.category == category][:CANDIDATES_A_CATEGORY]:
            report.candidates[intent] = found[intent]
            path = out / intent.slug / "task.yaml"
            if not path.exists():  # else someone may be working on it
                write_atomic(path, draft(intent, found[intent], names))
    table = jinja2.Template(_TABLE, trim_blocks=True, lstrip_blocks=True)
    page = table.render(report=report, categories=CATEGORIES, shells=SHELLS)
    write_atomic(out / "README.md", f"{page}\n")
    return report


def default_places() -> list[Path]:
    """The existing places where agents keep their transcripts."""
    home, given = Path.home(), os.environ.get
    places = [
        Path(given("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        Path(given("CODEX_HOME") or home / ".codex") / "sessions",
        home / ".gemini/tmp",
        Path(given("XDG_DATA_HOME") or home / ".local/share") / "opencode/opencode.db",
    ]
    return [place for place in places if place.exists()]


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield all files that could be transcripts, in a fixed order; links are not followed."""
    for path in paths:
        if path.is_file():
            yield path
        elif not path.exists():
            raise UserError("no such file or folder", where=str(path), hint="check LOGS=…")
        for file in sorted(path.rglob("*.*")):
            if (
                file.suffix in (".jsonl", ".json", ".db")
                and file.is_file()
                and not file.is_symlink()
            ):
                yield file


def _intent_or_reason(request: ShellRequest) -> Intent | str:
    """What a request is for, or why it is not a candidate; a leading `cd` is removed."""
    if len(request.command) > LONGEST_COMMAND:
        return "too long"
    if request.ok is False:
        return "failed"
    if not request.text:
        return "one of several for its prompt"
    if len(request.text) > LONGEST_PROMPT:
        return "its prompt is too long"
    request.command = without_cd(request.command)
    return intent_of(request.shell, request.command)


def draft(intent: Intent, requests: Sequence[ShellRequest], names: set[str]) -> str:
    """The text of a candidate's task.yaml: successful requests come first, then the shortest."""
    examples: dict[str, ShellRequest] = {}
    for request in sorted(requests, key=lambda r: (not r.ok, len(r.text), r.text, r.command)):
        examples.setdefault(request.command, request)
    texts, commands = list[str](), defaultdict[str, list[str]](list)
    for request in list(examples.values())[:EXAMPLES]:
        for found, private in ((texts, request.text), (commands[request.shell], request.command)):
            if (text := redact(private, names, request.folder)) not in found:
                found.append(text)
    prompt, *others = texts
    values = {
        "draft": True,
        "id": intent.slug,
        "category": intent.category,
        "provenance": "written",
        "provenance_note": f"after {len(requests)} requests in the author's own agent transcripts",
        "prompt": prompt,
        "seen": {
            "requests": len(requests),
            "known_successful": sum(request.ok is True for request in requests),
            "other_wordings": others,
            "commands": dict(commands),
        },
    }
    return _HEAD + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=110)


def redact(text: str, names: Iterable[str] = (), folder: str = "") -> str:
    """The text with placeholders for what says who wrote it and where: names, hosts, keys.

    It removes more than it must: a draft is rewritten by hand in any case.

    `names` are words to remove everywhere (user and machine names), `folder` is the session's
    folder: paths below it become relative.
    """
    folder = folder.rstrip("/\\")
    if len(folder) > 1:
        within = rf"{re.escape(folder)}(?:([/\\])|(?![\w.-]))"
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
