"""Find transcripts, collect requests, write drafts and their table."""

from __future__ import annotations

import contextlib
import getpass
import itertools
import os
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.terminal import print_lines
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.tasks import CATEGORIES
from fluency.miner import claude_code, codex, gemini, opencode
from fluency.miner.intents import Cluster, Clusters, Rejected, intent_of, without_cd
from fluency.miner.json_lines import read_document, read_lines
from fluency.miner.redact import GENERIC_NAMES, redact, user_names
from fluency.miner.transcript import LONGEST_COMMAND, LONGEST_PROMPT, Event, ShellRequest, assemble

A_CATEGORY = 10
_HEAD = """\
# A draft from your transcripts, not a task: as long as `draft` stands here it is refused.
# To make it one: rewrite the prompt so that it names no shell and states the output format, build what it needs
# into a world, write answer.py, references and wrong commands for both shells (docs/adding-a-task.md), and move the
# folder to tasks/. The commands below are what an agent ran: never take one's output as the expected answer.
"""


def write_candidates(out: Path, clusters: list[Cluster], names: set[str]) -> tuple[list[Cluster], int]:
    """Write a folder for each of the most frequent clusters of a category; which, and how many drafts stood already.

    A draft that is there stays as it is: someone may be working on it.
    """
    chosen: list[Cluster] = []
    kept = 0
    for category in CATEGORIES:
        chosen += [cluster for cluster in clusters if cluster.intent.category == category][:A_CATEGORY]
    for cluster in chosen:
        path = out / cluster.intent.slug / "task.yaml"
        if path.exists():
            kept += 1
        else:
            write_atomic(path, draft(cluster, names))
    return chosen, kept


def draft(cluster: Cluster, names: Iterable[str]) -> str:
    """The text of a candidate's task.yaml."""
    clean = [_clean(example, names) for example in cluster.examples]
    commands: dict[str, list[str]] = {}
    for example, (_, command) in zip(cluster.examples, clean, strict=True):
        if command not in commands.setdefault(example.shell, []):
            commands[example.shell].append(command)
    texts = list(dict.fromkeys(text for text, _ in clean if text))
    values = {
        "draft": True,
        "id": cluster.intent.slug,
        "category": cluster.intent.category,
        "provenance": "written",
        "provenance_note": f"after {cluster.count} requests in the author's own agent transcripts",
        "prompt": texts[0],
        "seen": {
            "requests": cluster.count,
            "known_successful": cluster.succeeded,
            "other_wordings": texts[1:],
            "commands": commands,
        },
    }
    return _HEAD + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=110)


def table(chosen: list[Cluster], categories: Counter[str], outside: Counter[str], summary: Iterable[str]) -> str:
    """The README of the candidates: what was read, how frequent each category is, and the candidates."""
    total = sum(categories.values())
    lines = ["# Task candidates from your transcripts", "", *summary, ""]
    lines += ["| category | requests | share |", "|---|---:|---:|"]
    lines += [f"| {name} | {categories[name]} | {_share(categories[name], total)} |" for name in CATEGORIES]
    titles = " | ".join(SHELLS[name].short_title for name in DESIGN_SHELLS)
    lines += ["", f"| candidate | requests | share of its category | {titles} | known successful |"]
    lines += ["|---|---:|---:|---:|---:|---:|"]
    for cluster in chosen:
        share = _share(cluster.count, categories[cluster.intent.category])
        shells = " | ".join(str(cluster.shells[name]) for name in DESIGN_SHELLS)
        slug = cluster.intent.slug
        lines.append(f"| [{slug}]({slug}/task.yaml) | {cluster.count} | {share} | {shells} | {cluster.succeeded} |")
    if outside:
        lines += ["", "Commands left out:", "", "| why | commands |", "|---|---:|"]
        often_first = sorted(outside.items(), key=lambda item: (-item[1], item[0]))
        lines += [f"| {why} | {count} |" for why, count in often_first]
    lines += ["", "docs/mining.md says how these were chosen, and how a candidate becomes a task."]
    return "\n".join(lines) + "\n"


def _clean(example: ShellRequest, names: Iterable[str]) -> tuple[str, str]:
    known = set(names) | user_names(example.folder)
    return redact(example.text, known, example.folder), redact(example.command, known, example.folder)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


FORMATS = {"Claude Code": claude_code, "Codex CLI": codex, "Gemini CLI": gemini}
MOST_REMEMBERED = 200_000
MOST_NAMES = 1_000
_SNIFFED = 5


@dataclass
class Report:
    """What was read and what came of it."""

    out: Path
    files: Counter[str] = field(default_factory=Counter)
    tally: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    candidates: list[str] = field(default_factory=list)
    drafts_kept: int = 0

    def lines(self) -> list[str]:
        """The report in sentences."""
        tally = self.tally
        kinds = ", ".join(f"{count} of {name}" for name, count in sorted(self.files.items())) or "none"
        return [
            f"Files read: {kinds} ({tally['bytes'] / 1e6:.1f} MB, {tally['lines']} lines; skipped: "
            f"{tally['malformed lines']} malformed and {tally['overlong lines']} overlong lines, "
            f"{tally['unreadable files']} unreadable files).",
            f"Shell commands found: {tally['commands']}; single, read-only and with a request: "
            f"{sum(self.categories.values())}.",
        ]


def mine(paths: Sequence[Path], out: Path) -> Report:
    """Read all transcripts at and below `paths` and write candidates and their table into `out`.

    Memory does not grow with the size of the transcripts. UserError if there is nothing to read.
    """
    report, clusters = Report(Path(out)), Clusters()
    names, last = _own_names(), time.monotonic()
    seen: set[int] = set()
    for path in _files(paths):
        for request in _requests(path, report):
            key = hash((request.call_id, request.command))
            if key in seen:
                continue
            if len(seen) < MOST_REMEMBERED:
                seen.add(key)
            report.tally["commands"] += 1
            if len(names) < MOST_NAMES:
                names |= user_names(f"{request.folder}\n{request.command}\n{request.text}")
            _sort_in(request, report, clusters)
        if time.monotonic() - last > 5:
            last = time.monotonic()
            print_lines([f"mine: {report.tally['bytes'] / 1e6:.0f} MB read, {report.tally['commands']} commands found"])
    if not report.files:
        raise UserError(
            "there are no agent transcripts",
            where=" ".join(map(str, paths)),
            hint="name their folder, for example LOGS=~/.claude/projects; docs/mining.md lists the places",
        )
    chosen, report.drafts_kept = write_candidates(report.out, clusters.ranked(), names)
    report.candidates = [cluster.intent.slug for cluster in chosen]
    write_atomic(report.out / "README.md", table(chosen, report.categories, report.left_out, report.lines()))
    return report


def main(logs: Sequence[Path], out: Path = Path("candidates")) -> int:
    """`make mine`: mine the given places, or those where the agents keep their transcripts."""
    places = _places(logs)
    named = ", ".join(map(str, places)) or "nothing: no agent has transcripts in its usual place"
    print_lines([f"mine: reading {named}"])
    report = mine(places, out)
    kept = f" ({report.drafts_kept} drafts were there already and stay as they were)" if report.drafts_kept else ""
    candidates = f"{len(report.candidates)} candidates in {report.out}{kept}; the table is {report.out / 'README.md'}"
    print_lines([*report.lines(), candidates])
    return 0


def usual_places() -> list[Path]:
    """Where the agents keep their transcripts, as far as they are there."""
    home = Path.home()
    places = [
        Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        Path(os.environ.get("CODEX_HOME") or home / ".codex") / "sessions",
        home / ".gemini" / "tmp",
        Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode" / "opencode.db",
    ]
    return [place for place in places if place.exists()]


def _places(logs: Sequence[Path]) -> list[Path]:
    """What LOGS names: one path, or several apart by blanks; nothing: the usual places."""
    places: list[Path] = []
    for given in map(str, logs):
        if given not in ("", "."):
            path = Path(given).expanduser()
            places += [path] if path.exists() else [Path(part).expanduser() for part in shlex.split(given)]
    return places or usual_places()


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """All files that could be transcripts, in a fixed order; links are not followed."""
    for path in paths:
        if path.is_file():
            yield path
        elif not path.exists():
            raise UserError("there is no such file or folder", where=str(path), hint="check LOGS=…")
        for folder, below, files in os.walk(path):
            below.sort()
            for name in sorted(files):
                file = Path(folder) / name
                if file.suffix in (".jsonl", ".json", ".db") and file.is_file() and not file.is_symlink():
                    yield file


def _requests(path: Path, report: Report) -> Iterator[ShellRequest]:
    """The requests in one file; a file of another kind holds none, one that cannot be read is counted."""
    try:
        if path.suffix == ".db":
            if opencode.recognises(path):
                report.files["opencode"] += 1
                for events in opencode.sessions(path, report.tally):
                    yield from assemble(events)
            return
        yield from assemble(_events(path, report))
    except OSError:
        report.tally["unreadable files"] += 1


def _events(path: Path, report: Report) -> Iterator[Event]:
    if path.suffix == ".json":
        document = read_document(path, report.tally) if path.name.startswith("session-") else None
        records: Iterator[dict[str, Any]] = iter([document] if document else [])
    else:
        records = read_lines(path, report.tally)
    first = list(itertools.islice(records, _SNIFFED))
    for name, reader in FORMATS.items():
        if any(reader.recognises(record) for record in first):
            report.files[name] += 1
            yield from reader.events(itertools.chain(first, records))
            return


def _sort_in(request: ShellRequest, report: Report, clusters: Clusters) -> None:
    """Count a command under its category, or under why it is left out."""
    if len(request.command) > LONGEST_COMMAND:
        why = "too long"
    elif request.ok is False:
        why = "failed"
    elif not request.text:
        why = "one of several for its prompt"
    elif len(request.text) > LONGEST_PROMPT:
        why = "its prompt is too long"
    else:
        request = replace(request, command=without_cd(request.command))
        intent = intent_of(request.shell, request.command)
        if not isinstance(intent, Rejected):
            report.categories[intent.category] += 1
            clusters.add(intent, request)
            return
        why = intent.why
    report.left_out[why] += 1


def _own_names() -> set[str]:
    """This user's and this machine's names, to be taken out wherever they stand."""
    names = {os.uname().nodename, os.uname().nodename.split(".")[0], Path.home().name}
    with contextlib.suppress(KeyError, OSError):
        names.add(getpass.getuser())
    return names - GENERIC_NAMES
