"""What git knows of this checkout; None without git or a repository."""

from __future__ import annotations

import hashlib
import subprocess

from fluency.common.files import plain_files
from fluency.common.paths import ROOT


def git(*arguments: str) -> bytes | None:
    """What a git command prints in this checkout; None if it fails."""
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def git_state() -> tuple[str | None, bool | None]:
    """The commit checked out, and whether the files differ from it; None if unknown.

    New files count among the code only.
    """
    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    new = git("ls-files", "--others", "--exclude-standard", "scripts", "report", "sandbox")
    if commit is None or changes is None:
        return None, None
    return commit.decode().strip(), bool(changes or new)


def day_of(commit: str) -> str | None:
    """The UTC day of a commit, by its full name."""
    made = git("show", "-s", "--format=%cd", "--date=format-local:%Y-%m-%d", commit)
    return made.decode().strip() if made else None


def files_of_ancestor(commit: str) -> dict[str, str]:
    """The files of a commit that HEAD is or descends from: path -> blob's name.

    Empty for any other commit, which anybody may have made.
    """
    known = git("merge-base", "--is-ancestor", commit, "HEAD") is not None
    listed = (git("ls-tree", "-rz", commit) if known else None) or b""
    entries = (line.partition("\t") for line in listed.decode().split("\0")[:-1])
    return {path: facts.split()[2] for facts, _, path in entries}


def blob_name(data: bytes) -> str:
    """The name that git gives a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def files_here(*names: str) -> dict[str, str]:
    """This checkout's files of these names, or below these folders: path -> blob's name."""
    paths = (
        path
        for name in names
        for path in (plain_files(ROOT / name) if name.endswith("/") else [ROOT / name])
    )
    return {path.relative_to(ROOT).as_posix(): blob_name(path.read_bytes()) for path in paths}
