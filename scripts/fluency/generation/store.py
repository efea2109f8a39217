"""The answer store: every answer once, whole, under the hash of its request, for ever.

    answers/<first two of key>/<key>.json    {"answer": …, "sha256": of the answer's canonical JSON}
    answers/decisions/<model>.json           a service refused the temperature; holds for all cells of the model
    answers/batches/<batch>.json             batches that are still out
    answers/arriving/<key>.held              an answer between its last byte and its place: written, not yet flushed
    answers/unread/<key>.reply               a reply that no code could read; a later version does
    answers/spending.log                     what calls have cost (`spending.py`)
    answers/.lock                            empty; who is asking for what locks a byte of it

An answer that this disk does not take is held elsewhere (`shelter.py`).
Nothing here is ever overwritten: of two answers to one request the first stays.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from fluency.common.files import flush, in_folder, pretty_json, sha256, write_atomic
from fluency.core.records import Answer, Request
from fluency.generation.answer_file import (
    DamagedAnswer,
    check_room,
    decode_answer,
    encode_answer,
    link,
    read_answer,
    read_file,
    stop_if_unwritable,
    write_whole,
)
from fluency.generation.locks import exclusive
from fluency.generation.request import forms_by_key
from fluency.generation.shelter import Shelter
from fluency.generation.spending import SpendingLog

LOCK_TIMEOUT_S = 1800


class AnswerStore:
    """A folder of answers; safe for any number of threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        # Files are made in one folder and then get their names in many: a folder's first file is dear to make.
        self.arriving = self.folder / "arriving"
        self.shelter = Shelter(self.folder)
        self.spending = SpendingLog(self.folder / "spending.log", self.shelter)

    def path(self, key: str) -> Path:
        """Where the answer to a request lies."""
        return self.folder / key[:2] / f"{key}.json"

    def has(self, key: str) -> bool:
        """Whether there is an answer, sound or not."""
        return os.path.lexists(self.path(key))

    def holds(self, request: Request) -> bool:
        """Whether there is an answer to a request, sound or not, as `find` looks for it."""
        return any(map(self.has, forms_by_key(request)))

    def get(self, key: str) -> Answer | None:
        """The answer, or None if there is none yet; DamagedAnswer if its file cannot be trusted."""
        return read_answer(self.path(key))

    def find(self, request: Request) -> Answer | None:
        """The answer to a request, under its key or the one it had in schema 1; DamagedAnswer as `get`."""
        return self.first_of(forms_by_key(request))

    def first_of(self, keys: Iterable[str]) -> Answer | None:
        """The first answer that there is under one of the keys; DamagedAnswer as `get`."""
        return next(filter(None, map(self.get, keys)), None)

    def put(self, answer: Answer) -> Answer:
        """Keep an answer durably and return what the store holds now: this one, or an earlier one.

        StopRun if the disk does not take it: asking on would buy answers that cannot be kept.
        """
        temporary = self.arriving / f"{answer.request_key}.{os.getpid()}-{threading.get_ident()}.part"
        with stop_if_unwritable(temporary):
            write_whole(temporary, encode_answer(answer))
        return self._name(temporary, answer)

    def write_pending(self, answer: Answer) -> None:
        """Write an answer down beside its place, so that a killed process does not lose it; `commit` comes next.

        Call it holding the key's lock. Not flushed, since that takes long; StopRun as `put`, with the answer sheltered,
        or NotKept if it could not be.
        """
        path, data = self.pending_path(answer.request_key), encode_answer(answer)
        with stop_if_unwritable(path, lambda: self.shelter.hold(answer.request_key, data)):
            write_whole(path, data)

    def commit(self, answer: Answer) -> Answer:
        """What `put` does, for an answer that is pending."""
        return self._name(self.pending_path(answer.request_key), answer)

    def pending(self, key: str) -> Answer | None:
        """A whole answer that a killed process left pending, or a full disk elsewhere; call it with the key's lock."""
        for path in (self.pending_path(key), *self.shelter.files(key)):
            if (data := read_file(path)) is None:
                continue
            try:
                answer = decode_answer(data, key, path)
            except DamagedAnswer:  # killed while it wrote
                path.unlink(missing_ok=True)
                continue
            if (place := self.pending_path(key)) != path:
                with stop_if_unwritable(place):
                    write_whole(place, data)
                    flush(place)
                    path.unlink()
            return answer
        return None

    def pending_path(self, key: str) -> Path:
        """Where an answer lies until it is committed."""
        return self.arriving / f"{key}.held"

    def _name(self, temporary: Path, answer: Answer) -> Answer:
        """Flush an answer and give it its name unless that is taken."""
        path = self.path(answer.request_key)
        with stop_if_unwritable(path):
            flush(temporary)
            taken = not in_folder(path, lambda: link(temporary, path))
            flush(path.parent)
            temporary.unlink(missing_ok=True)
        return (self.get(answer.request_key) or answer) if taken else answer

    def lock(
        self, name: str, while_waiting: Callable[[], None] = lambda: None, timeout_s: float = LOCK_TIMEOUT_S
    ) -> AbstractContextManager[None]:
        """The right to ask for a key (or to mind a batch), among all threads and processes on this store."""
        return exclusive(self.folder / ".lock", name, while_waiting=while_waiting, timeout_s=timeout_s)

    def check_room(self) -> None:
        """StopRun if the next answers might find no room: better before they are bought."""
        check_room(self.folder)

    # ------------------------------------------------------------ quarantine: replies that no code could read

    def quarantine_path(self, key: str) -> Path:
        """Where the reply lies that no code could make an answer of."""
        return self.folder / "unread" / f"{key}.reply"

    def quarantine(self, key: str, note: Mapping[str, object], body: bytes) -> None:
        """Keep a reply, and what was noted beside it, for a version of the program that can read it."""
        head = json.dumps({"note": dict(note), "bytes": len(body), "sha256": sha256(body)}).encode()
        with stop_if_unwritable(self.quarantine_path(key)):
            write_atomic(self.quarantine_path(key), head + b"\n" + body)

    def quarantined(self, key: str) -> tuple[dict[str, Any], bytes] | None:
        """The note and the reply that `quarantine` kept."""
        data = read_file(self.quarantine_path(key))
        if data is None:
            return None
        head, _, body = data.partition(b"\n")
        with suppress(ValueError, KeyError, TypeError):
            facts = json.loads(head)
            if (facts["bytes"], facts["sha256"]) == (len(body), sha256(body)):
                return facts["note"], body
        self.quarantine_path(key).unlink(missing_ok=True)  # no longer what was kept
        return None

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
        """Every answer; DamagedAnswer at the first that cannot be trusted."""
        return filter(None, map(read_answer, self.files()))
