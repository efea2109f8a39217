"""Find transcripts, collect requests, write drafts of tasks and a table of them."""

from __future__ import annotations

import contextlib
import getpass
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
import yaml

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.terminal import print_lines
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.tasks import CATEGORIES
from fluency.miner.intents import Cluster, Intent, intent_of, without_cd
from fluency.miner.redact import GENERIC_NAMES, redact, user_names
from fluency.miner.transcripts import UNKNOWN, ShellRequest, read_requests

LONGEST_PROMPT = 600
LONGEST_COMMAND = 2000
CANDIDATES_A_CATEGORY = 10
_TABLE = jinja2.Template(
    Path(__file__).with_name("table.md.j2").read_text(encoding="utf-8"),
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_HEAD = """\
# A draft from your transcripts, not a task: while it says `draft: true`, it is refused.
# To make it one: rewrite the prompt so that it names no shell and states the output format, build what it needs
# into a world, write answer.py, references and wrong commands for both shells (docs/adding-a-task.md), and move the
# folder to tasks/. The commands below are what an agent ran: never take one's output as the expected answer.
"""


@dataclass
class Report:
    """What was read and what came of it.

    Attributes:
        tally: files, lines, bytes and commands read, and what was skipped.
        categories: the accepted commands of each category.
        rejected: the other commands, by the reason.
        candidates: the names of the candidates.
        drafts_kept: drafts that existed and were not overwritten.
    """

    tally: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    candidates: list[str] = field(default_factory=list)
    drafts_kept: int = 0

    def text(self) -> str:
        """The report in sentences."""
        tally = self.tally
        return (
            f"Files with shell commands: {tally['files']} ({tally['bytes'] / 1e6:.1f} MB, "
            f"{tally['lines']} lines read; skipped: {tally['malformed lines']} malformed and "
            f"{tally['overlong lines']} overlong lines, {tally['unreadable files']} unreadable files).\n"
            f"Shell commands found: {tally['commands']}; single, read-only and with a request: "
            f"{sum(self.categories.values())}."
        )


def main(logs: Sequence[Path], out: Path) -> int:
    """`make mine`: mine the given places, or the agents' usual ones."""
    places = _places(logs)
    named = ", ".join(map(str, places)) or "nothing: no agent has transcripts in its usual place"
    print_lines([f"mine: reading {named}"])
    report = mine(places, out)
    found = f"{len(report.candidates)} candidates in {out}, {report.drafts_kept} drafts kept"
    print_lines([*report.text().splitlines(), f"{found}; the table is {out / 'README.md'}"])
    return 0


def mine(paths: Sequence[Path], out: Path) -> Report:
    """Read all transcripts at and below `paths`, and write candidates and their table into `out`.

    Memory grows with the number of distinct commands, not with the size of the transcripts.

    Raises:
        UserError: no transcript has a shell command.
    """
    report, clusters = Report(), dict[Intent, Cluster]()
    names, seen = _own_names(), set[int]()
    for path in _files(paths):
        before = len(seen)
        for request in read_requests(path, report.tally):
            key = hash((request.call_id, request.command))
            if key not in seen:
                seen.add(key)
                names |= user_names(f"{request.folder}\n{request.command}\n{request.text}")
                _classify(request, report, clusters)
        report.tally["files"] += len(seen) > before
    report.tally["commands"] = len(seen)
    if not seen:
        raise UserError(
            "no file has a shell command of an agent",
            where=" ".join(map(str, paths)),
            hint="name the transcripts' folder, for example LOGS=~/.claude/projects (docs/mining.md)",
        )
    ranked = sorted(clusters.values(), key=lambda cluster: (-cluster.count, cluster.intent))
    chosen: list[Cluster] = []
    for category in CATEGORIES:
        of_category = [cluster for cluster in ranked if cluster.intent.category == category]
        chosen += of_category[:CANDIDATES_A_CATEGORY]
    for cluster in chosen:
        path = out / cluster.intent.slug / "task.yaml"
        if path.exists():  # someone may be working on it
            report.drafts_kept += 1
        else:
            write_atomic(path, draft(cluster, names))
    report.candidates = [cluster.intent.slug for cluster in chosen]
    shells = {name: SHELLS[name].short_title for name in DESIGN_SHELLS}
    table = _TABLE.render(
        report=report,
        categories=CATEGORIES,
        chosen=chosen,
        shells={**shells, UNKNOWN: "unknown shell"},
        rejected=sorted((-count, why) for why, count in report.rejected.items()),
    )
    write_atomic(out / "README.md", table)
    return report


def default_places() -> list[Path]:
    """The existing places where agents keep their transcripts."""
    home, given = Path.home(), os.environ.get
    places = [
        Path(given("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        Path(given("CODEX_HOME") or home / ".codex") / "sessions",
        home / ".gemini" / "tmp",
        Path(given("XDG_DATA_HOME") or home / ".local" / "share") / "opencode" / "opencode.db",
    ]
    return [place for place in places if place.exists()]


def _places(logs: Sequence[Path]) -> list[Path]:
    """What LOGS names: one path, or several separated by blanks; without LOGS, the usual places."""
    places: list[Path] = []
    for given in map(str, logs):
        exists = Path(given).expanduser().exists()
        parts = [given] if exists else shlex.split(given)
        places += [Path(part).expanduser() for part in parts if part != "."]
    return places or default_places()


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield all files that could be transcripts, in a fixed order; links are not followed."""
    for path in paths:
        if path.is_file():
            yield path
        elif not path.exists():
            raise UserError("there is no such file or folder", where=str(path), hint="check LOGS=…")
        for file in sorted(path.rglob("*")):
            known = file.suffix in (".jsonl", ".json", ".db")
            if known and file.is_file() and not file.is_symlink():
                yield file


def _own_names() -> set[str]:
    """This user's and this machine's names, which are removed everywhere."""
    machine = os.uname().nodename
    names = {machine, machine.split(".")[0], Path.home().name}
    with contextlib.suppress(KeyError, OSError):
        names.add(getpass.getuser())
    return names - GENERIC_NAMES


def _classify(request: ShellRequest, report: Report, clusters: dict[Intent, Cluster]) -> None:
    """Count a command under its category, or under the reason why it is not a candidate."""
    found: Intent | str
    if len(request.command) > LONGEST_COMMAND:
        found = "too long"
    elif request.ok is False:
        found = "failed"
    elif not request.text:
        found = "one of several for its prompt"
    elif len(request.text) > LONGEST_PROMPT:
        found = "its prompt is too long"
    else:
        request.command = without_cd(request.command)
        found = intent_of(request.shell, request.command)
    if isinstance(found, str):
        report.rejected[found] += 1
    else:
        report.categories[found.category] += 1
        clusters.setdefault(found, Cluster(found)).add(request)


def draft(cluster: Cluster, names: set[str]) -> str:
    """The text of a candidate's task.yaml."""
    texts: list[str] = []
    commands: dict[str, list[str]] = {}
    for example in cluster.examples:
        known, folder = names | user_names(example.folder), example.folder
        texts.append(redact(example.text, known, folder))
        commands.setdefault(example.shell, []).append(redact(example.command, known, folder))
    prompt, *others = dict.fromkeys(texts)
    values = {
        "draft": True,
        "id": cluster.intent.slug,
        "category": cluster.intent.category,
        "provenance": "written",
        "provenance_note": f"after {cluster.count} requests in the author's own agent transcripts",
        "prompt": prompt,
        "seen": {
            "requests": cluster.count,
            "known_successful": cluster.succeeded,
            "other_wordings": others,
            "commands": {shell: list(dict.fromkeys(found)) for shell, found in commands.items()},
        },
    }
    return _HEAD + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=110)
