"""Message batches: all missing answers of a model in one order at half the price, collected when they are ready.

A note with the requests is written before the order is sent, and the batch's id after it. Nothing is ordered twice
unless a user deletes the note.
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
from fluency.generation.failure import Failure, ModelStop
from fluency.generation.model_session import ModelSession
from fluency.generation.providers.messages import MessagesProvider
from fluency.generation.request import request_for, request_key
from fluency.generation.store import AnswerStore, read_file

LARGEST = 10_000
Result = TypeVar("Result")


class BatchNote(BaseModel):
    """A batch under way: its requests by key, and what each may cost; `batch_id` is null until the service gave it."""

    model_id: str
    batch_id: str | None = None
    since_utc: str
    most_usd: dict[str, float] = {}
    requests: dict[str, Request]

    @property
    def usd(self) -> float:
        """Upper bound of its cost."""
        return sum(self.most_usd.values())

    def write(self, path: Path) -> None:
        """Replace the note's file."""
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
        """A new answer: by the batch, for which one thread waits, else by a single call."""
        if not self._is_done:
            with self.store.lock(_name_of(self.model.id)):
                self._run_batches()
                if not self.answered:  # one single call goes first
                    return super()._ask(request, key, where)
        return super()._ask(request, key, where)

    def _run_batches(self) -> None:
        """Collect the batches under way, then order what is missing, once the model has answered a call."""
        self.pace.raise_if_stopped()
        for path in outstanding(self.store, self.model.id):
            note = _read_note(path)
            with self.budget.reserved(note.usd, ordered=True):
                self._collect(path, note)
        if not self.answered or self._is_done:
            return
        asked = (request_for(self.study, cell, prompt) for cell, prompt in self._expected.items())
        missing = {
            key: request for request in asked if not self.store.has(key := request_key(request))
        }
        for start in range(0, len(missing), LARGEST):
            self._order(dict(itertools.islice(missing.items(), start, start + LARGEST)))
        self._is_done = True

    def _order(self, requests: dict[str, Request]) -> None:
        most = {
            key: upper_bound_usd(self.policy, request.prompt, "batch")
            for key, request in requests.items()
        }
        note = BatchNote(
            model_id=self.model.id,
            since_utc=utc_now("milliseconds"),
            most_usd=most,
            requests=requests,
        )
        path = (
            self.store.folder
            / "batches"
            / f"{_name_of(self.model.id)}-{sha256(''.join(requests))[:16]}.json"
        )

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
                raise self.given_up(failure, 1, self.where) from None
            note.write(path)
            log_line(
                f"{self.where}: a batch of {len(requests)} was ordered ({note.batch_id}); most end within an hour, "
                "and the run can be stopped and started again in between"
            )
            self._collect(path, note)

    def _collect(self, path: Path, note: BatchNote) -> None:
        if (batch_id := note.batch_id) is None:
            raise _lost(path, note, "its id is not known")
        try:
            while not self._tried(lambda: self._service.batch_has_ended(batch_id)):
                self.pace.sleep(self.retry.batch_poll_s)
            results = self._tried(lambda: self._service.batch_results(batch_id))
        except Failure as failure:
            if failure.status == 404:
                raise _lost(path, note, f"the service does not know {batch_id}") from None
            raise self.given_up(failure, 1, self.where) from None
        for key, request in note.requests.items():
            message = results.get(key, {})
            if message is None or self.store.has(
                key
            ):  # not billed, or collected by a process that died
                continue
            try:
                self.keep(
                    self.answer_in(message, key, request, {"latency_s": None, "transport": "batch"})
                )
            except Failure:  # it is counted, and asked for by a single call
                self.budget.add(upper_bound_usd(self.policy, request.prompt, "batch"))
        path.unlink(missing_ok=True)

    @property
    def _service(self) -> MessagesProvider:
        provider = self.provider()
        assert isinstance(provider, MessagesProvider)  # `open_provider` checks it
        return provider

    def _tried(self, call: Callable[[], Result]) -> Result:
        """A call of the batch interface, tried as often as the policy says; Failure at the end."""
        deadline, attempt = time.monotonic() + self.retry.deadline_s, 0
        while True:
            attempt += 1
            try:
                return call()
            except Failure as failure:
                if not self.waited(failure, attempt, deadline):
                    raise


def outstanding(store: AnswerStore, model_id: str) -> list[Path]:
    """Notes of a model's batches under way; a note whose answers are all stored is removed."""
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
        hint = (
            "restore it from a copy, or delete it; then the answers of the batch are paid for again"
        )
        raise UserError("this note of a batch is damaged", where=str(path), hint=hint) from None


def _name_of(model_id: str) -> str:
    return sha256(model_id)[:16]


def _lost(path: Path, note: BatchNote, why: str) -> ModelStop:
    """The stop of a model: what may be paid already is not ordered again by itself."""
    dollars = f", for up to ${note.usd:.2f}" if note.usd else ""
    return ModelStop(
        f"a batch of {len(note.requests)} was ordered at {note.since_utc}{dollars}, and {why}",
        where=str(path),
        hint="find it in the service's list of batches (same key and address), and write its id into this file as "
        "`batch_id`; or delete this file to order its cells again, for money",
    )
