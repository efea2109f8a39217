"""Message batches: all missing answers of a model in one order at half the price, collected whenever it is ready.

What is asked for is written down before the order goes out, and its number after. A process that dies in between
leaves a note from which the next one finds the batch in the service's list instead of ordering again.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluency.common.clock import utc_now
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256, write_atomic
from fluency.core.cells import Cell
from fluency.core.records import Request
from fluency.generation.budget import most
from fluency.generation.locks import POLL_S
from fluency.generation.reply import Failure, answer_from, read_message
from fluency.generation.request import body_of, request_key
from fluency.generation.retry import Attempts

if TYPE_CHECKING:
    from fluency.generation.model_session import Lane

LARGEST = 10_000
CLOCK_SKEW = dt.timedelta(minutes=10)


class BatchDesk:
    """The batches of one model: at most one is out at a time, and one thread of one process minds it."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.open = lane.model.transport == "batch"
        self._wanted: dict[Cell, str] = {}
        self._turn = threading.Lock()
        self._name = sha256(lane.model.id)[:16]

    def expect(self, cell: Cell, prompt: str) -> None:
        """Announce a cell for the next batch."""
        self._wanted[cell] = prompt

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One thread at a time; waiting ends with StopRun if the model is stopped."""
        while not self._turn.acquire(timeout=POLL_S):
            self.lane.limiter.raise_if_stopped()
        try:
            yield
        finally:
            self._turn.release()

    def check_transport(self) -> None:
        """UserError if batches are out and the config now asks by single calls: both would be paid."""
        if not self.open and (notes := self._notes()):
            raise UserError(
                "a batch of this model is still out",
                where=str(notes[0]),
                hint="set `transport: batch` to collect it, or delete this file to give it up",
            )

    def collect(self) -> None:
        """Fetch what is out, then order what is missing, once the model has answered a call; call it in `turn`."""
        lane = self.lane
        if not self.open:
            return
        lane.limiter.raise_if_stopped()
        with lane.store.lock(f"batch-{self._name}", lane.limiter.raise_if_stopped, patience_s=float("inf")):
            for path in self._notes():
                self._resume(path)
            if not lane.limiter.proven:
                return
            missing = self._missing()
            for start in range(0, len(missing), LARGEST):
                part = dict(list(missing.items())[start : start + LARGEST])
                lane.owner.budget.check(sum(most(lane.policy, r.prompt, "batch") for r in part.values()))
                lane.store.check_room()
                self._resume(self._write_note(part))
            self.open = False  # what is missing now goes the way of single calls

    def _missing(self) -> dict[str, Request]:
        requests = (self.lane.request(cell, prompt) for cell, prompt in self._wanted.items())
        keyed = {request_key(request): request for request in requests}
        return {key: request for key, request in keyed.items() if not self.lane.store.has(key)}

    # ------------------------------------------------------------ one batch

    def _notes(self) -> list[Path]:
        """Batches of the model that are out; a note whose process died after its last answer is done with."""
        notes = []
        for path in sorted((self.lane.store.folder / "batches").glob(f"{self._name}-*.json")):
            with suppress(FileNotFoundError):  # another process has just finished it
                if all(map(self.lane.store.has, json.loads(path.read_text(encoding="utf-8"))["requests"])):
                    path.unlink()
                else:
                    notes.append(path)
        return notes

    def _write_note(self, requests: dict[str, Request]) -> Path:
        path = self.lane.store.folder / "batches" / f"{self._name}-{sha256(''.join(requests))[:16]}.json"
        note = {
            "model_id": self.lane.model.id,
            "batch_id": None,
            "ordering": False,
            "since_utc": utc_now("milliseconds"),
            "not_ours": [],
            "requests": {key: request.model_dump(mode="json") for key, request in requests.items()},
        }
        write_atomic(path, pretty_json(note))
        return path

    def _resume(self, path: Path) -> None:
        """From whatever state the note is in to answers in the store."""
        note = json.loads(path.read_text(encoding="utf-8"))
        requests = {key: Request.model_validate(value) for key, value in note["requests"].items()}
        while True:
            if note["batch_id"] is None:
                if note["ordering"]:
                    note["batch_id"] = self._found(note)
                if note["batch_id"] is None:
                    self._order(path, note, requests)
                write_atomic(path, pretty_json(note))
            if not self._await(note["batch_id"]):
                break
            if self._fetch(note["batch_id"], requests):
                break
            note["not_ours"].append(note["batch_id"])
            note["batch_id"] = None
        path.unlink(missing_ok=True)

    def _order(self, path: Path, note: dict[str, Any], requests: dict[str, Request]) -> None:
        """Create the batch; after a failure that may hide a success, look for it before trying again."""
        note["ordering"] = True
        write_atomic(path, pretty_json(note))
        orders = [{"custom_id": key, "params": body_of(request)} for key, request in requests.items()]
        headers = next(iter(requests.values())).headers

        def create(attempt: int) -> str:
            found = self._listed(note) if attempt > 1 else None
            return found or self._batches.create(requests=orders, extra_headers=headers).id

        try:
            note["batch_id"] = self._call(create)
        except Failure as failure:
            if failure.scope != "retry":
                path.unlink(missing_ok=True)  # nothing was ordered, for certain
            self.lane.setbacks.met(failure, self.lane.where)
        self.lane.owner.say(
            f"{self.lane.where}: a batch of {len(orders)} is out ({note['batch_id']}); most are back within an hour, "
            "and the run can be ended and started again meanwhile"
        )

    def _found(self, note: dict[str, Any]) -> str | None:
        try:
            return self._call(lambda attempt: self._listed(note))
        except Failure as failure:
            return self.lane.setbacks.met(failure, self.lane.where)

    def _listed(self, note: dict[str, Any]) -> str | None:
        """The batch that a lost order made: of the right size, made since, and not known to be another's."""
        since = dt.datetime.fromisoformat(note["since_utc"]) - CLOCK_SKEW
        for batch in self._batches.list(limit=100):
            if batch.created_at < since:  # the list runs from the newest to the oldest
                return None
            counts = batch.request_counts
            size = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
            if size == len(note["requests"]) and batch.id not in note["not_ours"]:
                return batch.id
        return None

    def _await(self, batch_id: str) -> bool:
        """Wait for the end of a batch; False if the service does not know it any more."""
        while True:
            try:
                if self._call(lambda attempt: self._batches.retrieve(batch_id)).processing_status == "ended":
                    return True
            except Failure as failure:
                if failure.status == 404:
                    self.lane.owner.say(f"{self.lane.where}: the service does not know {batch_id} any more")
                    return False
                self.lane.setbacks.met(failure, self.lane.where)
            self.lane.limiter.sleep(self.lane.patience.batch_poll_s)

    def _fetch(self, batch_id: str, requests: dict[str, Request]) -> bool:
        """Put the results into the store, in whatever order they come; False if none of them is ours."""
        lane, ours = self.lane, False
        try:
            lines = self._call(lambda attempt: self._read_lines(batch_id))
        except Failure as failure:
            self.lane.setbacks.met(failure, self.lane.where)
        for line in lines:
            try:
                entry = json.loads(line)
                key, result = entry["custom_id"], entry["result"]
                if key not in requests:
                    continue
                ours = True
                # A process that died while it collected has stored, and counted, some.
                if result["type"] == "succeeded" and not lane.store.has(key):
                    note = lane.note() | {"latency_s": None, "transport": "batch"}
                    reading = read_message(result["message"])
                    lane.bought(lane.store.put(answer_from(key, requests[key], reading, note)))
            except (ValueError, KeyError, TypeError, Failure):
                continue  # asked again by a single call, like errored and expired ones
        return ours or not lines

    def _read_lines(self, batch_id: str) -> list[bytes]:
        with self.lane.client.sdk.messages.batches.with_streaming_response.results(batch_id) as response:
            return b"".join(response.http_response.iter_bytes()).splitlines()

    # ------------------------------------------------------------ calls

    @property
    def _batches(self) -> Any:
        return self.lane.client.sdk.messages.batches

    def _call(self, call: Callable[[int], Any]) -> Any:
        """A call of the batch interface, told its attempt's number, with the model's patience; Failure at the end."""
        attempts = Attempts(self.lane.patience, self.lane.limiter.sleep, self.lane.limiter.pause)

        return attempts.run(lambda: self.lane.client.guarded(lambda: call(attempts.number)))
