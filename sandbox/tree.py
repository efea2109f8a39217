"""The world's tree: unpacked from a tar, aged relative to now, and compared afterwards."""

from __future__ import annotations

import os
import time

BLOCK = 512


def unpack(root: str, data: bytes, ages: dict[str, float]) -> None:
    """Write the tree below `root`, owned by root and writable by nobody else, then set times `age` seconds back."""
    made = {root}
    for name, content in members(data):
        path = os.path.normpath(f"{root}/{name}")
        if not f"{path}/".startswith(f"{root}/"):
            raise ValueError(f"the tree reaches out of its root: {name}")
        folder = path if content is None else os.path.dirname(path)
        if folder not in made:
            os.makedirs(folder, mode=0o755, exist_ok=True)
            made.add(folder)
        if content is not None:
            with open(path, "wb") as stream:
                stream.write(content)
    now = time.time()
    for name, age in ages.items():
        os.utime(os.path.normpath(os.path.join(root, name)), (now - age, now - age))


def members(data: bytes) -> list[tuple[str, memoryview | None]]:
    """Name and content of each file of a tar, and of each folder with None; ValueError for anything else in it.

    Python's own tarfile takes as long to import as this to unpack the whole world.
    """
    found, view, at = [], memoryview(data), 0
    while not (head := data[at : at + BLOCK]).startswith(b"\0"):
        if len(head) < BLOCK or sum(head[:148]) + 8 * 32 + sum(head[156:]) != int(head[148:156].rstrip(b"\0 "), 8):
            raise ValueError("the tree's tar is damaged")
        prefix, name = head[345:500].partition(b"\0")[0], head[:100].partition(b"\0")[0]
        name = (prefix + b"/" + name if prefix and head[257:263] == b"ustar\0" else name).decode()
        size, kind = int(head[124:136].rstrip(b"\0 ") or b"0", 8), head[156:157]
        if kind not in b"05\0":
            raise ValueError(f"the tree holds something that is no file and no folder: {name}")
        at += BLOCK
        found.append((name, None if kind == b"5" else view[at : at + size]))
        at += -(-size // BLOCK) * BLOCK
    return found


def fingerprint(root: str) -> list[tuple]:
    """What changes when anybody changes the tree; the change time cannot be set back by anyone."""
    found = []
    for folder, folders, files in os.walk(root):
        for name in (".", *folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            found.append((path, status.st_ino, status.st_mode, status.st_uid, status.st_size, status.st_ctime_ns))
    return sorted(found)
