"""Message batches: all missing answers of a model in one order at half the price, collected when they are ready.

What is asked for is written down before the order goes out, and its id after it. Nothing is ordered twice unless
somebody deletes the note.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fluency.common.clock import utc_now
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256, write_atomic
from fluency.common.terminal import log_line
from fluency.core.records import Answer, Request
from fluency.core.study import Cell
from fluency.generation.budget import upper_bound_usd
from fluency.generation.failure import Failure, ModelStop, wait_s, worth_another_attempt
from fluency.generation.model_session import ModelSession
from fluency.generation.providers.messages import MessagesProvider
from fluency.generation.request import request_for, request_key
from fluency.generation.store import AnswerStore, read_file

LARGEST = 10_000
Result = TypeVar("Result")


class BatchNote(BaseModel):
    """A batch that is out: what was asked for, by key, since when; `batch_id` is null until the service gave it.

    `most_usd`: what the answer to each request may cost.
    """

    model_id: str
    batch_id: str | None = None
    since_utc: str
    most_usd: dict[str, float] = {}
    requests: dict[str, Request]

    @property
    def usd(self) -> float:
        """The most that all of it may cost."""
        return sum(self.most_usd.values())

    def write(self, path: Path) -> None:
        """Keep the note as it is now."""
        write_atomic(path, pretty_json(self.model_dump(mode="json")))


class BatchSession(ModelSession):
    """A model that is asked by batches, one at a time, and by single calls for what a batch did not answer."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._expected: dict[Cell, str] = {}
        self._is_done = False

    def expect(self, cell: Cell, prompt: str) -> None:
        """Announce a cell for the next batch."""
        self._expected[cell] = prompt

    def _ask(self, request: Request, key: str, where: str) -> Answer:
        """A new answer: by the batch, of which one thread waits for the end, else by a single call."""
        if not self._is_done:
            with self.store.lock(_name_of(self.model.id)):
                self._run_batches()
                if not self.answered:  # one single call goes first
                    return super()._ask(request, key, where)
        return super()._ask(request, key, where)

    def _run_batches(self) -> None:
        """Collect what is out, then order what is missing, once the model has answered a call."""
        self.pace.raise_if_stopped()
        for path in outstanding(self.store, self.model.id):
            note = _read_note(path)
            with self.budget.reserved(note.usd, ordered=True):
                self._collect(path, note)
        if not self.answered or self._is_done:
            return
        asked = (request_for(self.study, cell, prompt) for cell, prompt in self._expected.items())
        missing = {key: request for request in asked if not self.store.has(key := request_key(request))}
        for start in range(0, len(missing), LARGEST):
            self._order(dict(itertools.islice(missing.items(), start, start + LARGEST)))
        self._is_done = True

    def _order(self, requests: dict[str, Request]) -> None:
        """Order a batch, wait for its end and collect it."""
        most = {key: upper_bound_usd(self.policy, request.prompt, "batch") for key, request in requests.items()}
        note = BatchNote(model_id=self.model.id, since_utc=utc_now("milliseconds"), most_usd=most, requests=requests)
        path = self.store.folder / "batches" / f"{_name_of(self.model.id)}-{sha256(''.join(requests))[:16]}.json"

        def create() -> str:
            try:
                return self._service.create_batch(requests)
            except Failure as failure:
                if failure.scope != "retry" or (failure.slow_down and not failure.billed):
                    raise  # the service says that it took no order
                raise _lost(path, note, f"its id did not come back ({failure.what})") from None

        self.store.check_room()
        with self.budget.reserved(note.usd):
            note.write(path)
            try:
                note.batch_id = self._tried(create)
            except Failure as failure:
                path.unlink(missing_ok=True)
                raise self._given_up(failure, 1, self.where) from None
            note.write(path)
            log_line(
                f"{self.where}: a batch of {len(requests)} is out ({note.batch_id}); most are back within an hour, "
                "and the run can be ended and started again meanwhile"
            )
            self._collect(path, note)

    def _collect(self, path: Path, note: BatchNote) -> None:
        """Wait for the end of a batch and put its results into the store, in whatever order they come."""
        if (batch_id := note.batch_id) is None:
            raise _lost(path, note, "its id is not known")
        try:
            while not self._tried(lambda: self._service.batch_has_ended(batch_id)):
                self.pace.sleep(self.retry.batch_poll_s)
            results = self._tried(lambda: self._service.batch_results(batch_id))
        except Failure as failure:
            if failure.status == 404:
                raise _lost(path, note, f"the service does not know {batch_id}") from None
            raise self._given_up(failure, 1, self.where) from None
        for key, request in note.requests.items():
            message = results.get(key, {})
            if message is None or self.store.has(key):  # not billed; collected by a process that died meanwhile
                continue
            try:
                self.keep(self.answer_in(message, key, request, {"latency_s": None, "transport": "batch"}))
            except Failure:  # it counts, and is asked for by a single call
                self.budget.add(upper_bound_usd(self.policy, request.prompt, "batch"))
        path.unlink(missing_ok=True)

    @property
    def _service(self) -> MessagesProvider:
        provider = self.provider()
        assert isinstance(provider, MessagesProvider)  # `open_provider` looked
        return provider

    def _tried(self, call: Callable[[], Result]) -> Result:
        """A call of the batch interface, tried as often as the policy says; Failure at the end."""
        deadline = time.monotonic() + self.retry.deadline_s
        for attempt in itertools.count(1):
            try:
                return call()
            except Failure as failure:
                wait = wait_s(self.retry, failure, attempt)
                if not worth_another_attempt(self.retry, failure, attempt, deadline, wait):
                    raise
            self.pace.sleep(wait)
        raise AssertionError("the loop has no end")


def outstanding(store: AnswerStore, model_id: str) -> list[Path]:
    """Notes of a model's batches that are out; one whose process died after its last answer is done with."""
    notes = []
    for path in sorted((store.folder / "batches").glob(f"{_name_of(model_id)}-*.json")):
        if all(map(store.has, _read_note(path).requests)):
            path.unlink(missing_ok=True)
        else:
            notes.append(path)
    return notes


def _read_note(path: Path) -> BatchNote:
    """The note in a file; UserError if something else is there."""
    try:
        return BatchNote.model_validate_json(read_file(path) or b"")
    except ValidationError:
        raise UserError(
            "this note of a batch that is out is damaged",
            where=str(path),
            hint="restore it from a copy, or delete it; then what the batch was to answer is paid again",
        ) from None


def _name_of(model_id: str) -> str:
    """What a model's notes, and their lock, are called by."""
    return sha256(model_id)[:16]


def _lost(path: Path, note: BatchNote, why: str) -> ModelStop:
    """The end of a model's asking: what may be paid already is not ordered again without being asked for."""
    dollars = f", for up to ${note.usd:.2f}" if note.usd else ""
    return ModelStop(
        f"a batch of {len(note.requests)} was ordered at {note.since_utc}{dollars}, and {why}",
        where=str(path),
        hint="look for it in the service's list of batches, with the key and the address that it was ordered with, and "
        "write its id into this file as `batch_id`; or delete this file to order its cells again, for money",
    )
