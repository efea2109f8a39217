"""The world's tree: unpacked from a tar with times relative to now, compared after the command."""

from __future__ import annotations

import os
import stat
import time

BLOCK = 512
# Limits of `survey`: a command can make an endless tree.
MOST_ENTRIES, MOST_DEPTH, MOST_S = 50_000, 40, 5.0
MOST_PATHS, LONGEST_PATH = 50, 300


def unpack(root: str, data: bytes, ages: dict[str, float]) -> None:
    """Write the tree below `root` as the caller, with the tar's modes; set times `age` s back."""
    modes = {root: None}
    for name, mode, content in members(data):
        path = os.path.normpath(f"{root}/{name}")
        if not f"{path}/".startswith(f"{root}/"):
            raise ValueError(f"the tree reaches out of its root: {name}")
        folder = path if content is None else os.path.dirname(path)
        if folder not in modes:
            os.makedirs(folder, mode=0o755, exist_ok=True)
            modes[folder] = None
        if content is not None:
            with open(path, "wb") as stream:
                stream.write(content)
        modes[path] = mode
    now = time.time()
    for name, age in ages.items():
        os.utime(os.path.normpath(os.path.join(root, name)), (now - age, now - age))
    # A folder after its files: its mode may deny access.
    for path, mode in sorted(modes.items(), reverse=True):
        if mode is not None:
            os.chmod(path, mode)


def members(data: bytes) -> list[tuple[str, int, memoryview | None]]:
    """Name, mode and content of each member of a tar; a folder's content is None.

    ValueError for anything else.

    Importing Python's tarfile alone takes as long as unpacking the whole world with this.
    """
    found, view, at = [], memoryview(data), 0
    while not (head := data[at : at + BLOCK]).startswith(b"\0"):
        if len(head) < BLOCK or sum(head[:148]) + 8 * 32 + sum(head[156:]) != int(
            head[148:156].rstrip(b"\0 "), 8
        ):
            raise ValueError("the tree's tar is damaged")
        prefix, name = head[345:500].partition(b"\0")[0], head[:100].partition(b"\0")[0]
        name = (prefix + b"/" + name if prefix and head[257:263] == b"ustar\0" else name).decode()
        size, kind = int(head[124:136].rstrip(b"\0 ") or b"0", 8), head[156:157]
        if kind not in b"05\0":
            raise ValueError(f"the tree holds something that is no file and no folder: {name}")
        at += BLOCK
        mode = int(head[100:108].rstrip(b"\0 "), 8) & 0o777
        found.append((name, mode, None if kind == b"5" else view[at : at + size]))
        at += -(-size // BLOCK) * BLOCK
    return found


def survey(root: str, unlock: bool = False) -> tuple[dict[str, os.stat_result], bool]:
    """Path -> status of everything in the tree ("." is its root), and whether that is all of it.

    Follows no link and opens only folders, each by its name relative to its parent. With `unlock`,
    folders that deny access to their owner get mode 0700, for a tree that is no longer needed.
    """
    found: dict[str, os.stat_result] = {".": os.lstat(root)}
    until = time.monotonic() + MOST_S

    def scan(folder: int, above: str, depth: int) -> bool:
        whole = True
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(found) >= MOST_ENTRIES or time.monotonic() > until:
                    return False
                path = above + entry.name
                found[path] = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(found[path].st_mode):
                    whole = (
                        depth < MOST_DEPTH and enter(entry.name, path, folder, depth + 1) and whole
                    )
        return whole

    def enter(name: str, path: str, above: int | None, depth: int) -> bool:
        try:
            if unlock and found[path].st_mode & 0o500 != 0o500:
                os.chmod(name, 0o700, dir_fd=above)
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
        except OSError:
            return False
        try:
            return scan(folder, "" if path == "." else f"{path}/", depth)
        except OSError:
            return False
        finally:
            os.close(folder)

    return found, enter(root, ".", None, 0)


def changes(
    before: dict[str, os.stat_result], after: dict[str, os.stat_result], whole: bool
) -> dict | None:
    """The paths that a command created, changed and removed; None if there are none.

    Files are compared by change time (ctime), which cannot be set back, folders by mode and owner:
    what was created or removed in one does not change it. `bytes` is the size of the created and
    changed files.
    """
    created = sorted(after.keys() - before.keys())
    removed = sorted(before.keys() - after.keys()) if whole else []
    changed = [
        path
        for path in sorted(before.keys() & after.keys())
        if _state(before[path]) != _state(after[path])
    ]
    if whole and not (created or removed or changed):
        return None
    files = [
        after[path].st_size for path in (*created, *changed) if stat.S_ISREG(after[path].st_mode)
    ]
    return {
        "created": _listed(created),
        "changed": _listed(changed),
        "removed": _listed(removed),
        "bytes": sum(files),
        "complete": whole,
    }


def _state(status: os.stat_result) -> tuple:
    kept = status.st_ino, status.st_mode, status.st_uid
    is_folder = stat.S_ISDIR(status.st_mode)
    return kept if is_folder else (*kept, status.st_size, status.st_ctime_ns)


def _listed(paths: list[str]) -> dict:
    return {"count": len(paths), "paths": list(map(_shown, paths[:MOST_PATHS]))}


def _shown(path: str) -> str:
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text if len(text) <= LONGEST_PATH else text[:LONGEST_PATH] + "…"
