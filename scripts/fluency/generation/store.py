"""The answer store: every answer once, whole, under the hash of its request; never overwritten.

answers/<first two of key>/<key>.json    {"answer": …, "sha256": of the answer's canonical JSON}
answers/<…>/<key>.json.<hash>            set aside: it continued an answer that was deleted
answers/.lock                            locked by the run that asks
"""

import json
import os
import shutil
import threading
from collections import Counter
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any, NoReturn

from fluency.common.canonical import canonical_json, canonical_sha256
from fluency.common.errors import StopRun, UserError
from fluency.common.files import sha256, write_atomic
from fluency.common.locks import file_lock
from fluency.common.paths import ANSWERS
from fluency.common.terminal import log_line, print_lines
from fluency.core.records import Answer, key_of
from fluency.core.untrusted_json import UNFORESEEN
from fluency.generation.request import same_history

ROOM_BYTES = 32 * 1024 * 1024
NOT_STORED = "This answer could not be stored: "
"""Before each answer that the disk refused and that is printed."""


class DamagedAnswer(UserError):
    """A stored answer that cannot be trusted."""


class AnswerStore:
    """A folder of answers; safe for threads. One run may ask (`hold`), any number may read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._locks: dict[str, threading.RLock] = {}
        self._held = ExitStack()

    def path(self, key: str) -> Path:
        """The file of an answer."""
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Answer | None:
        """The answer; None until it is there.

        DamagedAnswer if its file cannot be read, or hash, key and request do not fit together.
        """
        path = self.path(key)
        try:
            data = path.read_bytes()
            return answer_in(json.loads(data), key) if data else None
        except FileNotFoundError:
            return None
        except (OSError, *UNFORESEEN) as error:
            why = str(error).splitlines()[0][:200]
            raise DamagedAnswer(
                f"this stored answer is damaged: {why}",
                where=path,
                hint="restore it from a copy of the store (`make answers` lists it), or "
                "delete it: while it is here, it is not asked for again",
            ) from None

    def put(self, answer: Answer) -> Answer:
        """Store an answer and return the stored one: this, or an earlier one of the same history.

        StopRun if it cannot be written; the answer is then printed.
        """
        key, text = answer.request_key, canonical_json(answer.model_dump(mode="json"))
        path, data = self.path(key), f'{{"answer":{text},"sha256":"{sha256(text)}"}}\n'
        with self.lock(key):
            if stored := self.get(key):
                if same_history(stored.request, answer.request):
                    return stored
                path.rename(f"{path}.{sha256(path.read_bytes())[:12]}")
            try:
                write_atomic(path, data)
            except OSError as error:
                with suppress(OSError):
                    path.unlink()  # it may not survive a power cut
                log_line(f"{NOT_STORED}{json.dumps(json.loads(data))}")  # in ASCII
                raise StopRun(
                    f"an answer could not be written: {error.strerror}; it is printed above",
                    where=path,
                    hint="make room or give write permission, then run again: this cell is asked, "
                    "and paid, again",
                ) from None
        return answer

    def lock(self, name: str) -> AbstractContextManager[object]:
        """A lock among the threads of this process, for a key."""
        return self._locks.setdefault(name, threading.RLock())

    def hold(self) -> None:
        """Lock the store until `release` or the end of the process.

        StopRun if another run has locked it.
        """
        self.check_room()
        self.release()
        self._held.enter_context(file_lock(self.folder / ".lock", self._refuse))

    def _refuse(self, _: str) -> NoReturn:
        raise StopRun(
            "another run is asking models into this answer store",
            where=self.folder,
            hint="let that run finish, or end it; then run again",
        )

    def release(self) -> None:
        """Unlock the store."""
        self._held.close()

    def check_room(self) -> None:
        """StopRun if the disk has no room for the next answers."""
        what = "cannot be written, or its disk is full"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self.folder).free
            if free >= ROOM_BYTES and os.access(self.folder, os.W_OK):
                return
        except OSError as error:
            what = f"cannot be made: {error.strerror}"
        raise StopRun(
            f"the answer store {what}",
            where=self.folder,
            hint="make room or give write permission, then run again",
        )

    def files(self) -> list[Path]:
        """All answer files in the order of their keys."""
        return sorted(self.folder.glob("[0-9a-f][0-9a-f]/[!.]*.json"))


def answer_in(document: Any, key: str) -> Answer:
    """The answer in the document of an answer's file.

    One of UNFORESEEN if it is not an answer, or if its hash, the key and its request do not fit
    together.
    """
    body = document["answer"]
    if canonical_sha256(body) != document["sha256"]:
        raise ValueError("its hash does not match its content")
    if body["request_key"] != key or key_of(body["request"]) != key:
        raise ValueError("it answers another request than its name says")
    return Answer.model_validate(body)


def verify(store: AnswerStore) -> tuple[Counter[str], dict[str, str]]:
    """Check every answer against its hashes.

    Returns:
        How many are sound, by model, server and outcome; and file -> what is wrong with it.
    """
    sound, damaged = Counter[str](), dict[str, str]()
    for path in store.files():
        try:
            if answer := store.get(path.stem):
                sound[f"{answer.request.model_id}, by {answer.server}: {answer.outcome}"] += 1
        except DamagedAnswer as error:
            damaged[str(path)] = error.what
    return sound, damaged


def main() -> int:
    """`make answers`: verify and list; the exit code is 1 if an answer is damaged, else 0."""
    store = AnswerStore(ANSWERS)
    sound, damaged = verify(store)
    head = f"{store.folder}: {sound.total()} sound answers, {len(damaged)} damaged."
    lines = [*sorted(sound.items()), *damaged.items()]
    print_lines([head, *(f"  {name}: {what}" for name, what in lines)])
    return bool(damaged)
