"""What git knows of this checkout; None where git or the repository is missing."""

from __future__ import annotations

import re
import subprocess

from fluency.common.paths import ROOT

_COMMIT = re.compile(r"[0-9a-f]{40}")


def git(*arguments: str) -> bytes | None:
    """What a git command prints in this checkout; None if it fails."""
    try:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def git_state() -> tuple[str | None, bool | None]:
    """The commit checked out and whether tracked files differ from it; None where git does not know."""
    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    return (None, None) if commit is None or changes is None else (commit.decode().strip(), bool(changes.strip()))


def in_history(commit: str) -> bool:
    """Whether the commit, by its full name, is HEAD or an ancestor of it."""
    return bool(_COMMIT.fullmatch(commit)) and git("merge-base", "--is-ancestor", commit, "HEAD") is not None


def files_at(commit: str, folder: str) -> list[str]:
    """The files below a folder at a commit, relative to the project; none where git does not know."""
    names = git("ls-tree", "-rz", "--name-only", commit, f"{folder}/") or b""
    return [name.decode() for name in names.split(b"\0")[:-1]]


def file_at(commit: str, name: str) -> bytes | None:
    """A file's bytes at a commit."""
    return git("cat-file", "blob", f"{commit}:{name}")
