"""What git knows of this checkout; None where git or the repository is missing."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from pathlib import Path

from fluency.common.paths import ROOT

_COMMIT = re.compile(r"[0-9a-f]{40}")


def git(*arguments: str) -> bytes | None:
    """What a git command prints in this checkout; None if it fails."""
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def git_state() -> tuple[str | None, bool | None]:
    """The commit checked out and whether tracked files differ from it, or new ones stand among the code; None where git
    does not know.
    """
    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    new = git("ls-files", "--others", "--exclude-standard", "scripts", "report", "sandbox")
    return (
        (None, None)
        if commit is None or changes is None
        else (commit.decode().strip(), bool(changes or new))
    )


def in_history(commit: str) -> bool:
    """Whether the commit, by its full name, is HEAD or an ancestor of it."""
    return (
        bool(_COMMIT.fullmatch(commit))
        and git("merge-base", "--is-ancestor", commit, "HEAD") is not None
    )


def export(commit: str, folder: Path) -> bool:
    """Write the files of a commit, by its full name, into a folder; False where git does not know it."""
    data = git("archive", "--format=tar", commit) if _COMMIT.fullmatch(commit) else None
    if data is None:
        return False
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(
            folder
        )  # git writes no path that leaves it; `filter` came with Python 3.11.4
    return True


def files_at(commit: str, folder: str) -> list[str]:
    """The files below a folder at a commit, relative to the project; none where git does not know."""
    names = git("ls-tree", "-rz", "--name-only", commit, f"{folder}/") or b""
    return [name.decode() for name in names.split(b"\0")[:-1]]


def file_at(commit: str, name: str) -> bytes | None:
    """A file's bytes at a commit."""
    return git("cat-file", "blob", f"{commit}:{name}")
