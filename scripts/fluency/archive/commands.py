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
from fluency.archive.decision import recorded_sha256, write_decision
from fluency.archive.pack import make_archive
from fluency.archive.registration import preregister as freeze
from fluency.archive.registration import read_registration
from fluency.archive.replay import replay_archive
from fluency.archive.unpack import unpacked
from fluency.archive.verify import verify_archive, verify_unpacked
from fluency.common.clock import utc_date, utc_now
from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.git import git_state
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
A clock can be set, so let a third party see the registration before the first answer:
  git add {name} && git commit -m "Register {name}" && git push
docs/archive.md says how to sign it."""


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


def pack_study(loaded: LoadedStudy, *, partial: bool = False, image: bool = False) -> Path:
    """Write the archive of a study as it is in results/ and return its path.

    Raises:
        UserError: if no cell has a record yet.
    """
    records = (record_path(RESULTS, stage, cell) for stage in RECORD_TYPES for cell in loaded.cells)
    if not any(path.exists() for path in records):
        what = "there is nothing to archive: no cell has a record"
        raise UserError(what, where=loaded.study.study, hint="`make run`")
    commit, dirty = git_state()
    if commit is None:
        log_line("Git knows no commit here: the archive is named `nocommit`.")
    if private := [task.id for task in loaded.tasks if task.private]:
        log_line(f"The archive holds the private tasks in full: {', '.join(private)}.")
    return make_archive(
        loaded.view(),
        RESULTS,
        ANSWERS,
        ARCHIVES,
        commit=commit or "nocommit",
        dirty=bool(dirty),
        utc_date=utc_date(),
        partial=partial,
        save_image=(lambda name, path: save_image(ensure_engine(), name, path)) if image else None,
    )


def verify(archive: Path, record: Path | None = None) -> int:
    """Verify an archive and print what was found; 0: PROVEN, 1: ALTERED, 3: NOT CHECKED.

    Args:
        record: the decision record that must name this very file.
    """
    stated = recorded_sha256(record) if record else ""
    report = verify_archive(archive)
    if stated:
        what = f"it is not the archive that {record} is based on, whose SHA-256 is {stated}"
        report.check(archive.name, stated == report.sha256, what)
    print_lines(report.lines())
    return report.exit_code


def open_archive(
    archive: Path, into: Path | None = None, *, verbose: bool = False, show: bool = True
) -> int:
    """Verify an archive, make its report and explorer again, and open them on a screen.

    Of an altered archive nothing is written. The exit code is the verification's.
    """
    with unpacked(archive) as files:
        report, archived = verify_unpacked(files)
        proven = report.verdict() == "PROVEN"
        print_lines(report.lines() if verbose or not proven else report.lines()[-1:])
        if archived is None or report.altered:
            return report.exit_code
        folder = into or ARCHIVES / "opened" / archive.name.removesuffix(".tar.zst")
        written = write_opened(archived, folder)
    print("Report:   {}\nExplorer: {}".format(*written))
    if show and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        for path in written:
            webbrowser.open(path.resolve().as_uri())
    return report.exit_code


def replay(
    archive: Path,
    stage: Literal["score", "execute"],
    allowed: Collection[str] = (),
    markdown: Path | None = None,
) -> int:
    """Rescore or re-execute an archive with the present code and image; print the differences."""
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
    """Write a decision record from a verified archive."""
    print_lines([str(write_decision(archive, title, ROOT / "docs" / "decisions"))])
    return 0
