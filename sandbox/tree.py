"""The world's tree: written with times relative to now, compared and read after the command."""

from __future__ import annotations

import binascii
import os
import stat
import time

# Limits of `survey`: a command can make an endless tree. Seconds are of the processor, so that no
# other work on the machine decides what is known.
MOST_ENTRIES, MOST_DEPTH, MOST_S = 50_000, 40, 5.0
MOST_PATHS, LONGEST_PATH = 50, 300
# Limits of the state: paths, bytes of their names, bytes and seconds of reading, bytes of a content
# that is kept and of all of them.
MOST_CHANGED, MOST_NAMES = 2_000, 512 << 10
MOST_READ, MOST_READ_S = 256 << 20, 2.0
LARGEST_KEPT, MOST_KEPT = 64 << 10, 1 << 20
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def write(root: str, tree: list, data: bytes, ages: dict[str, float]) -> None:
    """Write files and folders below `root` as the caller; set their times `age` s back.

    `tree` has path and size of each, parents first; a folder has no size.
    """
    start = 0
    for name, size in tree:
        path = os.path.join(root, name)
        if size is None:
            os.mkdir(path)
            continue
        with open(path, "wb") as stream:
            stream.write(data[start : start + size])
        start += size
    now = time.time()
    for name, age in ages.items():
        os.utime(os.path.join(root, name), (now - age, now - age))


def survey(root: str, unlock: bool = False) -> tuple[dict[str, os.stat_result], bool]:
    """Path -> status of everything in the tree ("." is its root), and whether that is all of it.

    Follows no link and opens only folders, each by its name relative to its parent. With `unlock`,
    folders that deny access to their owner get mode 0700, for a tree that is no longer needed.
    """
    found: dict[str, os.stat_result] = {".": os.lstat(root)}
    until = time.process_time() + MOST_S

    def scan(folder: int, above: str, depth: int) -> bool:
        whole = True
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(found) >= MOST_ENTRIES or time.process_time() > until:
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
            folder = os.open(name, FOLDER, dir_fd=above)
        except OSError:
            return False
        try:
            return scan(folder, "" if path == "." else f"{path}/", depth)
        except OSError:
            return False
        finally:
            os.close(folder)

    return found, enter(root, ".", None, 0)


def left_behind(root: str, before: dict[str, os.stat_result]) -> tuple[dict | None, list | str]:
    """What a command did to the tree since a survey: for display, and the state of each path.

    For display, None if nothing is different: the paths that were created, changed and removed, and
    `bytes`, the size of the created and changed files. Files are compared by change time (ctime),
    which cannot be set back, folders by mode and owner: what was created or removed in one does not
    change it.
    """
    after, whole = survey(root, True)
    created = sorted(after.keys() - before.keys())
    removed = sorted(before.keys() - after.keys()) if whole else []
    common = sorted(before.keys() & after.keys())
    changed = [path for path in common if _seen(before[path]) != _seen(after[path])]
    if whole and not (created or removed or changed):
        return None, []
    there = [after[path] for path in (*created, *changed)]
    shown = {
        "created": _listed(created),
        "changed": _listed(changed),
        "removed": _listed(removed),
        "bytes": sum(status.st_size for status in there if stat.S_ISREG(status.st_mode)),
        "complete": whole,
    }
    if not whole:
        return shown, "not everything in the working folder was examined"
    try:
        return shown, _states(root, sorted((*created, *changed, *removed)), after)
    except (OSError, OverflowError) as error:
        return shown, getattr(error, "strerror", None) or str(error)


def _seen(status: os.stat_result) -> tuple:
    kept = status.st_ino, status.st_mode, status.st_uid
    is_folder = stat.S_ISDIR(status.st_mode)
    return kept if is_folder else (*kept, status.st_size, status.st_ctime_ns)


def _states(root: str, paths: list[str], after: dict[str, os.stat_result]) -> list[dict]:
    """What each path is now; a file is read once under all its names. OverflowError if too much."""
    # hashlib takes 2 to 18 ms to import.
    from _sha256 import sha256

    until, left, room, names = time.process_time() + MOST_READ_S, MOST_READ, MOST_KEPT, MOST_NAMES
    if len(paths) > MOST_CHANGED:
        raise OverflowError(f"more than {MOST_CHANGED:,} paths are different")
    files: dict[int, tuple[str, bytes]] = {}
    found: list[dict] = []
    for path in paths:
        state = {"path": escaped(path), "kind": "absent"}
        found.append(state)
        if status := after.get(path):
            state |= {"kind": _kind(status), "mode": stat.S_IMODE(status.st_mode)}
        if state["kind"] == "link":
            folder, name = _opened(root, path)
            state["target"] = escaped(os.readlink(name, dir_fd=folder))
            os.close(folder)
        if state["kind"] == "file":
            size = status.st_size
            if status.st_ino not in files:
                left -= size
                if left < 0:
                    raise OverflowError(f"more than {MOST_READ >> 20} MiB are different")
                files[status.st_ino] = _read(root, path, status, sha256(), until)
            state["sha256"], data = files[status.st_ino]
            data = data if len(data) == size <= room else b""
            room -= len(data)
            kept = binascii.b2a_base64(data, newline=False).decode()
            state["content"] = {"data": kept, "bytes": size}
        names -= len(state["path"]) + len(state.get("target", ""))
        if names < 0:
            raise OverflowError(f"the names are longer than {MOST_NAMES >> 10} KiB")
    return found


def _kind(status: os.stat_result) -> str:
    return KINDS.get(stat.S_IFMT(status.st_mode), "other")


def _opened(root: str, path: str) -> tuple[int, str]:
    """The folder of a path, opened without following a link, and the path's name in it."""
    *folders, name = path.split("/")
    folder = os.open(root, FOLDER)
    for inner in folders:
        above, folder = folder, os.open(inner, FOLDER, dir_fd=folder)
        os.close(above)
    return folder, name


def _read(root: str, path: str, status: os.stat_result, digest, until: float) -> tuple[str, bytes]:
    """The SHA-256 of a file, and its content if that is small enough to be kept."""
    folder, name = _opened(root, path)
    if not status.st_mode & stat.S_IRUSR:
        os.chmod(name, 0o400, dir_fd=folder)
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    os.close(folder)
    data = b""
    with open(handle, "rb", buffering=0) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
            data += piece if status.st_size <= LARGEST_KEPT else b""
            if time.process_time() > until:
                raise OverflowError(f"reading takes longer than {MOST_READ_S:.0f} s")
    return digest.hexdigest(), data


def _listed(paths: list[str]) -> dict:
    return {"count": len(paths), "paths": list(map(_shown, paths[:MOST_PATHS]))}


def _shown(path: str) -> str:
    text = escaped(path)
    return text if len(text) <= LONGEST_PATH else text[:LONGEST_PATH] + "…"


def escaped(path: str) -> str:
    r"""A name's bytes as text: a backslash is doubled, and what is not UTF-8 is \xNN."""
    return os.fsencode(path).replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
