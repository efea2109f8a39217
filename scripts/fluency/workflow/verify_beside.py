"""Verify an archive by the code that made it: the commit it names, checked out beside this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from fluency.archive.findings import EXIT_CODES, PROVEN, VerifyReport
from fluency.archive.private_part import HELD_OUT
from fluency.archive.unpack import manifest_of
from fluency.common.errors import UserError
from fluency.common.git import git, in_history
from fluency.common.paths import ROOT
from fluency.common.terminal import log_line, print_lines

LOCK = "envs/requirements.lock"


def next_step(report: VerifyReport) -> str:
    """What may prove the rest: the one command where this repository has the archive's commit, or its private part."""
    manifest = report.manifest
    if any(finding.where == HELD_OUT for finding in report.unproven):
        return (
            f"With its private tasks: TASKS_PRIVATE=folder make verify ARCHIVE={report.path} PRIVATE=its private part"
        )
    if manifest.dirty:
        return "It was made with uncommitted changes, so no commit holds its code and nobody can prove the rest."
    if in_history(manifest.commit):
        return f"By the code that made it, checked out beside: make verify ARCHIVE={report.path} BESIDE=1"
    return "Its commit is not in this checkout's history: fetch it, and verify in a checkout of it."


def verify_beside(archive: Path) -> int:
    """Verify in a temporary work tree of the archive's commit, print what is found there and return the exit code.

    Only code from this checkout's history is run. UserError where there is no such commit. An older version's 0 counts
    only with its last line, for it ended so without a proof too.
    """
    manifest = manifest_of(archive)
    if not in_history(manifest.commit):
        raise UserError(
            f"the commit that the archive names, {manifest.commit}, is not in this checkout's history",
            where=str(archive),
            hint="`git fetch` it and check out a branch that holds it",
        )
    with TemporaryDirectory(prefix="fluency-beside-") as folder:
        tree = Path(folder) / "checkout"
        if git("worktree", "add", "--detach", str(tree), manifest.commit) is None:
            raise UserError(
                "git cannot check the commit out", where=manifest.commit, hint="set TMPDIR to a roomier disk"
            )
        try:
            log_line(f"commit {manifest.commit} verifies in a checkout of its own")
            command, more = _call(tree, archive.resolve())
            environ = os.environ | more
            run = subprocess.run(command, cwd=tree, env=environ, stdout=subprocess.PIPE, text=True, check=False)
        finally:
            git("worktree", "remove", "--force", str(tree))
    print_lines(run.stdout.splitlines())
    if run.returncode == 0 and PROVEN not in run.stdout:
        return EXIT_CODES["unproven"]
    return run.returncode


def _call(tree: Path, archive: Path) -> tuple[list[str], dict[str, str]]:
    """That version's command and environment: this one where it pins the same libraries, else one of its own."""
    if (tree / LOCK).read_bytes() == (ROOT / LOCK).read_bytes():
        return [sys.executable, "-m", "fluency.cli", "verify", str(archive)], {"PYTHONPATH": str(tree / "scripts")}
    return ["make", "-s", "verify"], {"ARCHIVE": str(archive)}
