"""From transcripts to candidates: find the files, read them one line at a time, keep what is one-shot."""

from __future__ import annotations

import contextlib
import getpass
import itertools
import os
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.terminal import print_lines
from fluency.miner import claude_code, codex, gemini, opencode
from fluency.miner.candidates import table, write_candidates
from fluency.miner.clusters import Clusters
from fluency.miner.intent import Rejected, intent_of, without_cd
from fluency.miner.json_lines import read_document, read_lines
from fluency.miner.redact import GENERIC_NAMES, user_names
from fluency.miner.transcript import LONGEST_COMMAND, LONGEST_PROMPT, Event, ShellRequest, assemble

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
