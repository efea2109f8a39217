"""The commands about an archive: register, pack, verify, open, replay, decide."""

from __future__ import annotations

import json
import os
import webbrowser
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from fluency.analysis.power import outlook_lines
from fluency.archive.archived_study import write_opened
from fluency.archive.decision import write_decision
from fluency.archive.findings import VerifyReport
from fluency.archive.manifest import private_archive_name
from fluency.archive.pack import make_archive
from fluency.archive.private_part import HELD_OUT
from fluency.archive.registration import preregister as freeze
from fluency.archive.registration import read_registration
from fluency.archive.replay import replay_archive
from fluency.archive.unpack import unpacked
from fluency.archive.verify import verify_archive, verify_unpacked
from fluency.common.clock import utc_date, utc_now
from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.git import git_state, in_history
from fluency.common.paths import ANSWERS, ARCHIVES, RESULTS, ROOT
from fluency.common.terminal import log_line, print_lines
from fluency.core.loaded_study import LoadedStudy
from fluency.core.study import SandboxConfig
from fluency.core.table import RECORD_TYPES, record_path
from fluency.execution.engine import ensure_engine
from fluency.execution.image import save_image
from fluency.execution.sandbox import open_sandbox

_REGISTERED = """{path}
Put this into the study's file:
  preregistration: {name}
  decision: {decision}
A clock can be set. Who questions the order believes a third party, so leave one a trace before the first answer:
  git add {name} && git commit -m "Register {name}" && git push
  openssl ts -query -data {name} -sha256 -cert -out {name}.tsq
  curl -H "Content-Type: application/timestamp-query" --data-binary @{name}.tsq -o {name}.tsr "$TSA"
The last two keep an answer by RFC 3161 of the time-stamping service whose address is in $TSA."""


def preregister(loaded: LoadedStudy, decision: str) -> int:
    """Freeze a study's design into a file to be committed, and print how the study names it."""
    path = freeze(
        loaded.study, loaded.tasks, decision or loaded.study.decision, ROOT / "preregistrations"
    )
    frozen, name = read_registration(path), path.relative_to(ROOT)
    text = _REGISTERED.format(
        name=name, decision=json.dumps(frozen["decision"], ensure_ascii=False), path=path
    )
    print_lines([*text.split("\n"), *outlook_lines(loaded.study, len(loaded.tasks))])
    if frozen["commit"] is None or frozen["dirty"]:
        print("No commit holds the code it was made by: commit your changes before you register.")
    return 0


def pack_study(
    loaded: LoadedStudy, *, partial: bool = False, image: bool = False, with_private: bool = False
) -> Path:
    """Write the archive of a study as it is in results/ and return its path; private tasks go into a second file.

    UserError if no cell has a record yet.
    """
    if not any(
        record_path(RESULTS, stage, cell).exists()
        for stage in RECORD_TYPES
        for cell in loaded.cells
    ):
        what = "there is nothing to archive: no cell has a record"
        raise UserError(what, where=loaded.study.study, hint="`make run`")
    commit, dirty = git_state()
    if commit is None:
        log_line(
            "Git knows no commit here, so the archive is named `nocommit`, and nobody can look up its code."
        )
    logs = [
        ROOT / "logs" / stage / f"{cell.path}.log"
        for stage in RECORD_TYPES
        for cell in loaded.cells
    ]
    logs += (ROOT / "logs" / loaded.study.study).glob("*.log")
    packed = make_archive(
        loaded.view(),
        loaded.tasks,
        RESULTS,
        ANSWERS,
        ARCHIVES,
        commit=commit or "nocommit",
        dirty=bool(dirty),
        utc_date=utc_date(),
        config=loaded.files,
        logs={str(file.relative_to(ROOT)): file for file in logs if file.is_file()},
        partial=partial,
        with_private=with_private,
        save_image=(lambda name, path: save_image(ensure_engine(), name, path)) if image else None,
    )
    part = packed.with_name(private_archive_name(packed.name))
    if part.is_file():
        log_line(f"The private tasks stand in {part.name}: do not publish it.")
    return packed


def verify(archive: Path, private: Path | None = None) -> int:
    """Verify an archive and print what was found; 0: proven, 1: altered, 3: not proven by this checkout.

    `private` is the part that holds its private tasks.
    """
    report = verify_archive(archive, private=private)
    _print(report)
    return report.exit_code


def _print(report: VerifyReport) -> None:
    print_lines(report.lines())
    if report.verdict() == "unproven":
        print_lines([next_step(report)])


def next_step(report: VerifyReport) -> str:
    """What may prove the rest: the code of the archive's commit, or its private part."""
    manifest = report.manifest
    if any(finding.where == HELD_OUT for finding in report.unproven):
        command = f"make verify ARCHIVE={report.path} PRIVATE=its private part"
        return f"With its private tasks: TASKS_PRIVATE=folder {command}"
    if manifest.dirty:
        return "It was made with uncommitted changes, so no commit holds its code and nobody can prove the rest."
    if in_history(manifest.commit):
        folder = f"../at-{manifest.commit[:12]}"
        checkout = f"git worktree add --detach {folder} {manifest.commit}"
        return f"By the code that made it: {checkout} && make -C {folder} verify ARCHIVE={report.path.resolve()}"
    return "Its commit is not in this checkout's history: fetch it, and verify in a checkout of it."


def open_archive(
    archive: Path, into: Path | None = None, *, verbose: bool = False, show: bool = True
) -> int:
    """Verify an archive, write its report and explorer, and open them where there is a screen.

    The exit code is the verification's, but 0 where only the report's words differ. Of an altered archive nothing is
    written. verbose: print the whole verification, also where nothing but words differs.
    """
    with unpacked(archive) as files:
        report, archived = verify_unpacked(files)
        short = report.proven or report.only_words_differ
        if verbose or not short:
            _print(report)
        elif report.proven:
            print_lines([report.conclusion])
        else:
            print(
                "Evidence and scores are proven; the report is worded by newer code (VERBOSE=1 shows what differs)."
            )
        if archived is None or not report.ok:
            return report.exit_code
        folder = into or ARCHIVES / "opened" / archive.name.removesuffix(".tar.zst")
        written = write_opened(archived, folder)
    print("Report:   {}\nExplorer: {}".format(*written))
    if show and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        for path in written:
            webbrowser.open(path.resolve().as_uri())
    return 0 if short else report.exit_code


def replay(
    archive: Path,
    stage: Literal["score", "execute"],
    allowed: Collection[str] = (),
    markdown: Path | None = None,
) -> int:
    """Rescore or re-execute an archive with the present code and image; print the differences, and write them."""
    if allowed and stage == "score":
        limits = f"ALLOW={','.join(allowed)}"
        raise UserError(
            "limits count only where commands run",
            where=limits,
            hint="leave it out, or STAGE=execute",
        )
    sandbox = open_sandbox(SandboxConfig()) if stage == "execute" else None
    found = replay_archive(archive, sandbox, utc=utc_now(), allowed=allowed).markdown()
    print_lines(found.splitlines())
    if markdown:
        write_atomic(markdown, found)
        log_line(f"written to {markdown}")
    return 0


def write_decision_record(archive: Path, title: str) -> int:
    """Write a decision record that rests on a verified archive."""
    print_lines([str(write_decision(archive, title, ROOT / "docs" / "decisions"))])
    return 0
