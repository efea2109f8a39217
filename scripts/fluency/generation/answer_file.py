"""One answer as a file of the store: written whole, named once, and trusted only if its hashes fit."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from fluency.common.canonical import canonical_json, hashes_to
from fluency.common.errors import StopRun, UserError
from fluency.common.files import sha256
from fluency.core.records import Answer


class DamagedAnswer(UserError):
    """A stored answer that cannot be trusted."""


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


def read_file(path: Path) -> bytes | None:
    """A file of the store, or None if there is none; DamagedAnswer if it cannot be read."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DamagedAnswer(
            f"this stored answer cannot be read: {error.strerror}",
            where=str(path),
            hint="give read permission; it is not asked for again while it is here",
        ) from None


@contextmanager
def stop_if_unwritable(path: Path) -> Iterator[None]:
    """StopRun instead of what a disk says that takes no answer."""
    try:
        yield
    except OSError as error:
        raise StopRun(
            f"an answer could not be written: {error.strerror}",
            where=str(path),
            hint="make room or give write permission, then run again",
        ) from None


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
