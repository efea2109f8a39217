"""What git knows of this checkout; None without git or a repository."""

import hashlib
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime

from fluency.common.clock import utc_text
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


def commit_utc(commit: str) -> str:
    """The UTC time of a commit that git knows, by its full name."""
    made = git("show", "-s", "--format=%ct", commit) or b"0"
    return utc_text(datetime.fromtimestamp(int(made), UTC), "seconds")


def first_commit_with(data: bytes, path: str) -> str | None:
    """The first commit before HEAD in which a file of this path has these bytes."""
    listed = git("log", "--reverse", "--format=%H", f"--find-object={blob_name(data)}", "--", path)
    return listed.decode().partition("\n")[0] if listed else None


def below(files: Mapping[str, str], folder: str) -> dict[str, str]:
    """The files whose paths begin so."""
    return {path: blob for path, blob in files.items() if path.startswith(folder)}


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
