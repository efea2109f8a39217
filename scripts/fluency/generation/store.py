"""The answer store: every answer once, whole, under the hash of its request, for ever.

    answers/<first two of key>/<key>.json    {"answer": …, "sha256": of the answer's canonical JSON}
    answers/decisions/<model>.json           a service refused the temperature; holds for all cells of the model
    answers/batches/<batch>.json             batches that are still out
    answers/received/<key>.reply             a reply between its last byte and its place in the store
    answers/.locks/                          who is asking for what, while they ask

Nothing here is ever overwritten: of two answers to one request the first stays.
"""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fluency.errors import StopRun, UserError
from fluency.files import canonical_json, pretty_json, sha256, sync_folder, write_atomic
from fluency.generation.locks import exclusive
from fluency.generation.request import request_key
from fluency.records import Answer

if TYPE_CHECKING:
    from fluency.generation.audit import Merged, Verified

ROOM_BYTES = 32 * 1024 * 1024
LOCK_PATIENCE_S = 1800


class Damaged(UserError):
    """A stored answer that cannot be trusted."""


class AnswerStore:
    """A folder of answers; safe for any number of threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def path(self, key: str) -> Path:
        """Where the answer to a request lies."""
        return self.folder / key[:2] / f"{key}.json"

    def has(self, key: str) -> bool:
        """Whether there is an answer, sound or not."""
        return self.path(key).is_file()

    def get(self, key: str) -> Answer | None:
        """The answer, or None if there is none yet; Damaged if its file cannot be trusted."""
        try:
            data = self.path(key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Damaged(
                f"this stored answer cannot be read: {error.strerror}",
                where=str(self.path(key)),
                hint="give read permission; it is not asked for again while it is here",
            ) from None
        return open_answer(data, key, self.path(key))

    def put(self, answer: Answer) -> Answer:
        """Keep an answer durably and return what the store holds now: this one, or an earlier one.

        StopRun if the disk does not take it: asking on would buy answers that cannot be kept.
        """
        path = self.path(answer.request_key)
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
            if not self._link_new(path, close_answer(answer)):
                return self.get(answer.request_key) or answer
        except OSError as error:
            raise StopRun(
                f"an answer could not be written: {error.strerror}",
                where=str(path),
                hint="make room or give write permission, then run again",
            ) from None
        return answer

    def _link_new(self, path: Path, data: bytes) -> bool:
        """Give the bytes their name unless it is taken."""
        temporary = f"{path.parent}/.{path.stem}.{os.getpid()}-{threading.get_ident()}.part"
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            with open(handle, "wb", buffering=0) as stream:  # noqa: PTH123
                stream.write(data)
                os.fsync(handle)
            taken = not _link(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        sync_folder(path.parent)
        return not taken

    def lock(
        self, name: str, while_waiting: Callable[[], None] = lambda: None, patience_s: float = LOCK_PATIENCE_S
    ) -> AbstractContextManager[None]:
        """The right to ask for a key (or to mind a batch), among all threads and processes on this store."""
        return exclusive(self.folder / ".locks" / f"{name}.lock", while_waiting=while_waiting, patience_s=patience_s)

    def check_room(self) -> None:
        """StopRun if the next answers might find no room: better before they are bought."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free = os.statvfs(self.folder)
            full = free.f_bavail * free.f_frsize < ROOM_BYTES or not os.access(self.folder, os.W_OK)
            why = "the answer store cannot be written, or its disk is full"
        except OSError as error:
            full, why = True, f"the answer store cannot be made: {error.strerror}"
        if full:
            raise StopRun(why, where=str(self.folder), hint="make room or give write permission, then run again")

    # ------------------------------------------------------------ replies on their way into the store

    def reply_path(self, key: str) -> Path:
        """Where the bytes of a reply lie until its answer is in the store."""
        return self.folder / "received" / f"{key}.reply"

    def receive(self, key: str, note: dict[str, Any], body: bytes) -> None:
        """Write a reply down as it came: from here on a killed process does not lose it. Never raises.

        Call it holding the key's lock. Not flushed: the answer, which follows at once, is.
        """
        head = json.dumps({"note": note, "bytes": len(body), "sha256": sha256(body)}).encode()
        with suppress(OSError):  # if the disk is full, `put` says so
            path = self.reply_path(key)
            try:
                path.write_bytes(head + b"\n" + body)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(head + b"\n" + body)

    def received(self, key: str) -> tuple[dict[str, Any], bytes] | None:
        """A whole reply that `receive` wrote and nobody made an answer of; call it holding the key's lock."""
        try:
            head, _, body = self.reply_path(key).read_bytes().partition(b"\n")
            facts = json.loads(head)
            if (facts["bytes"], facts["sha256"]) == (len(body), sha256(body)):
                return facts["note"], body
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            pass
        self.forget(key)
        return None

    def forget(self, key: str) -> None:
        """The reply's answer is in the store, or it holds none."""
        self.reply_path(key).unlink(missing_ok=True)

    # ------------------------------------------------------------ decisions

    def _decision(self, model_id: str) -> Path:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", model_id).lstrip(".")
        return self.folder / "decisions" / f"{name}-{sha256(model_id)[:8]}.json"

    def temperature_refused(self, model_id: str) -> bool:
        """Whether a service refused this model's temperature and its cells go without."""
        return self._decision(model_id).is_file()

    def refuse_temperature(self, model_id: str, said: str, utc: str) -> None:
        """Decide, for this and every later run, that the model's cells go without a temperature."""
        decision = {"model_id": model_id, "decision": "send no temperature", "service_said": said, "utc": utc}
        write_atomic(self._decision(model_id), pretty_json(decision))

    # ------------------------------------------------------------ the whole store

    def files(self) -> list[Path]:
        """All answer files in the order of their keys."""
        return sorted(path for path in self.folder.glob("[0-9a-f][0-9a-f]/*.json") if not path.name.startswith("."))

    def entries(self) -> Iterator[Answer]:
        """Every answer; Damaged at the first that cannot be trusted."""
        for path in self.files():
            yield open_answer(path.read_bytes(), path.stem, path)

    def verify(self) -> Verified:
        """Check every answer against its hashes and clear temporaries of runs killed long ago."""
        from fluency.generation.audit import verify

        return verify(self)

    def merge(self, other: Path) -> Merged:
        """Take over another store's answers and decisions; what is here already stays as it is."""
        from fluency.generation.audit import merge

        return merge(self, Path(other))


def close_answer(answer: Answer) -> bytes:
    """An answer as its file holds it."""
    text = canonical_json(answer.model_dump(mode="json"))
    return f'{{"answer":{text},"sha256":"{sha256(text)}"}}\n'.encode()


def open_answer(data: bytes, key: str, path: Path) -> Answer:
    """The answer in a file's bytes; Damaged if hash, key or request do not fit together."""
    try:
        value = json.loads(data)
        answer = Answer.model_validate(value["answer"])
        if sha256(canonical_json(value["answer"])) != value["sha256"]:
            raise ValueError("its hash does not fit its content")
        if answer.request_key != key or request_key(answer.request) != key:
            raise ValueError("it answers another request than its name says")
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        why = str(error).splitlines()[0][:200]
        raise Damaged(
            f"this stored answer is damaged: {why}",
            where=str(path),
            hint="restore the file from a copy of the store or an archive (`make answers`); it is not asked for "
            "again while it is here, so only if there is no copy, delete it",
        ) from None
    return answer


def _link(source: str, path: Path) -> bool:
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


def main(merge: Path | None = None) -> int:
    """`make answers`: list and verify the project's store, after taking over another one if it is named."""
    from fluency.generation.audit import audit
    from fluency.paths import ANSWERS

    return audit(AnswerStore(ANSWERS), merge)
