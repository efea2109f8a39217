"""One answer as a file of the store: written whole, named once, and trusted only if its hashes fit."""

from __future__ import annotations

import errno
import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from fluency.common.canonical import canonical_json, hashes_to
from fluency.common.errors import StopRun, UserError
from fluency.common.files import in_folder, sha256
from fluency.core.records import Answer

ROOM_BYTES = 32 * 1024 * 1024
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


class DamagedAnswer(UserError):
    """A stored answer that cannot be trusted."""


class NotKept(StopRun):
    """An answer that neither its own place nor any other took: it is in memory and nowhere else."""


def encode_answer(answer: Answer) -> bytes:
    """An answer as its file holds it."""
    text = canonical_json(answer.model_dump(mode="json"))
    return f'{{"answer":{text},"sha256":"{sha256(text)}"}}\n'.encode()


def decode_answer(data: bytes, key: str, path: Path) -> Answer:
    """The answer in a file's bytes; DamagedAnswer if hash, key or request do not fit together."""
    try:
        value = json.loads(data)
        answer = Answer.model_validate(value["answer"])
        if not hashes_to(value["answer"], value["sha256"]):
            raise ValueError("its hash does not fit its content")
        if answer.request_key != key or not hashes_to(answer.request.model_dump(mode="json"), key):
            raise ValueError("it answers another request than its name says")
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        why = str(error).splitlines()[0][:200]
        raise DamagedAnswer(
            f"this stored answer is damaged: {why}",
            where=str(path),
            hint="restore the file from a copy of the store or an archive (`make answers`); it is not asked for "
            "again while it is here, so only if there is no copy, delete it",
        ) from None
    return answer


def read_answer(path: Path) -> Answer | None:
    """The answer in a file whose name is its key, or None if there is none; DamagedAnswer as the other two."""
    data = read_file(path)
    return None if data is None else decode_answer(data, path.stem, path)


def read_file(path: Path) -> bytes | None:
    """A file of the store, or None if there is none; DamagedAnswer if something is there that cannot be read."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        # Others make folders and files here meanwhile: nothing may depend on two looks at the same thing.
        if path.is_symlink() or (path.parent.is_symlink() and not path.parent.exists()):
            why = "a link leads nowhere"
        elif isinstance(error, NotADirectoryError) and os.path.lexists(path.parent):
            why = f"{path.parent} is no folder"
        else:
            return None  # nor the folder above: `check_room` says what is wrong there
    except OSError as error:
        why = str(error.strerror)
    raise DamagedAnswer(
        f"this stored answer cannot be read: {why}",
        where=str(path),
        hint="give read permission, or move away what is no answer; it is not asked for again while this is here",
    )


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, unflushed; OSError, and no file is left, if the disk does not take every byte."""
    handle = in_folder(path, lambda: os.open(path, NEW_FILE, 0o644))
    try:
        left = memoryview(data)
        while left:  # a disk that fills up takes a part without an error
            left = left[os.write(handle, left) :]
        if os.fstat(handle).st_size != len(data):
            raise OSError(errno.EIO, "the file is not as long as what was written")
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


@contextmanager
def stop_if_unwritable(path: Path, hold: Callable[[], Path | None] | None = None) -> Iterator[None]:
    """StopRun instead of what a disk says that takes no answer, which `hold` may keep elsewhere; NotKept if not."""
    try:
        yield
    except OSError as error:
        held = hold() if hold else None
        raise (NotKept if hold and not held else StopRun)(
            f"an answer could not be written: {error.strerror}{f'; it is held in {held}' if held else ''}",
            where=str(path),
            hint="make room or give write permission, then run again",
        ) from None


def check_room(folder: Path) -> None:
    """StopRun if the folder's disk, or the process's own limit, might not take the next answers."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free, largest = os.statvfs(folder), resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        full = free.f_bavail * free.f_frsize < ROOM_BYTES or not os.access(folder, os.W_OK)
        why = "the answer store cannot be written, or its disk is full" if full else ""
        if 0 <= largest < ROOM_BYTES:
            why = f"this process may write no file of more than {largest} bytes (`ulimit -f`)"
    except OSError as error:
        why = f"the answer store cannot be made: {error.strerror}"
    if why:
        raise StopRun(why, where=str(folder), hint="make room or give write permission, then run again")


def link(source: Path, path: Path) -> bool:
    """Name the file unless the name is taken."""
    try:
        os.link(source, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        if path.exists():  # a file system without hard links: the key's lock keeps others away
            return False
        os.rename(source, path)
    return True
