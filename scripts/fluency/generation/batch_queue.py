"""Message batches: all missing answers of a model in one order at half the price, collected whenever it is ready.

What is asked for is written down before the order goes out, and its id after. A process that dies in between leaves
a note from which the next one finds the batch in the service's list instead of ordering again. What was ordered, or may
have been, is ordered anew only if that list says that the order never arrived, or somebody deletes the note.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from fluency.common.errors import StopRun, UserError
from fluency.common.terminal import log_line
from fluency.core.records import Request
from fluency.core.study import Cell
from fluency.generation.batch_note import BatchNote, name_of, new_note, outstanding, read_note
from fluency.generation.budget import upper_bound_usd
from fluency.generation.context import GenerationContext
from fluency.generation.failure import Failure
from fluency.generation.failure_policy import FailurePolicy
from fluency.generation.providers.provider import BatchProvider, Provider
from fluency.generation.reply import answer_of
from fluency.generation.request import request_key
from fluency.generation.retry import Result

LARGEST = 10_000


class BatchQueue:
    """The batches of one model: at most one is out at a time, and one thread of one process minds it."""

    def __init__(self, context: GenerationContext, failures: FailurePolicy, provider: Callable[[], Provider]) -> None:
        self.context, self._failures, self._provider = context, failures, provider
        self.open = context.model.transport == "batch"
        self._wanted: dict[Cell, str] = {}

    def expect(self, cell: Cell, prompt: str) -> None:
        """Announce a cell for the next batch."""
        self._wanted[cell] = prompt

    def lock(self) -> AbstractContextManager[None]:
        """The right to mind the model's batch; waiting for it ends with StopRun if the model is stopped."""
        context = self.context
        name = f"batch-{name_of(context.model.id)}"
        return context.store.lock(name, context.rate_limit.raise_if_stopped, timeout_s=math.inf)

    def check_transport(self) -> None:
        """UserError if batches are out and the config now asks by single calls: both would be paid."""
        if not self.open and (notes := outstanding(self.context.store, self.context.model.id)):
            raise UserError(
                "a batch of this model is still out",
                where=str(notes[0]),
                hint="set `transport: batch` to collect it, or delete this file to give it up",
            )

    def collect(self) -> None:
        """Fetch what is out, then order what is missing, once the model has answered a call; call it under `lock`."""
        context = self.context
        if not self.open:
            return
        context.rate_limit.raise_if_stopped()
        for path in outstanding(context.store, context.model.id):
            self._resume(path)
        if not context.rate_limit.proven:
            return
        missing = self._missing()
        for start in range(0, len(missing), LARGEST):
            part = dict(list(missing.items())[start : start + LARGEST])
            most = {key: upper_bound_usd(context.policy, asked.prompt, "batch") for key, asked in part.items()}
            context.store.check_room()
            # One run after the other, so that each sees in its budget what the one before has ordered.
            with context.store.lock("ordering", context.rate_limit.raise_if_stopped):
                context.budget.check(sum(most.values()))
                path = new_note(context.store, context.model.id, part, most)
            self._resume(path)
        self.open = False  # what is missing now goes the way of single calls

    def _missing(self) -> dict[str, Request]:
        requests = (self.context.request(cell, prompt) for cell, prompt in self._wanted.items())
        return {request_key(request): request for request in requests if not self.context.store.holds(request)}

    # ------------------------------------------------------------ one batch

    def _resume(self, path: Path) -> None:
        """From whatever state the note is in to answers in the store."""
        note = read_note(path)
        while note is not None:
            if note.batch_id is None:
                note.batch_id = self._lost_order(path, note) or self._order(path, note)
                note.write(path)
            try:
                self._wait_for(note.batch_id)
                if self._fetch(note.batch_id, note):
                    break
            except Failure as failure:
                if failure.status == 404:
                    raise self._ask_first(path, note, f"the service does not know {note.batch_id}") from None
                self._failures.raise_for(failure, self.context.where)
            note.not_ours.append(note.batch_id)
            note.batch_id, note.listed = None, False
        path.unlink(missing_ok=True)

    def _lost_order(self, path: Path, note: BatchNote) -> str | None:
        """The batch that a process ordered which died before it learned the id."""
        try:
            return self._call(lambda attempt: self._listed(path, note)) if note.ordering else None
        except Failure as failure:
            self._failures.raise_for(failure, self.context.where)

    def _order(self, path: Path, note: BatchNote) -> str:
        """Create the batch; after a failure that may hide a success, look for it before trying again."""
        if not note.ordering:
            try:
                note.after = self._call(lambda attempt: self._service.newest_batch())
            except Failure as failure:
                path.unlink(missing_ok=True)  # nothing was ordered
                self._failures.raise_for(failure, self.context.where)
            note.ordering = True
            note.write(path)

        def create(attempt: int) -> str:
            found = self._listed(path, note) if attempt > 1 else None
            return found or self._service.order_batch(note.requests)

        try:
            batch_id = self._call(create)
        except Failure as failure:
            if failure.scope != "retry":
                path.unlink(missing_ok=True)  # nothing was ordered, for certain
            self._failures.raise_for(failure, self.context.where)
        log_line(
            f"{self.context.where}: a batch of {len(note.requests)} is out ({batch_id}); most are back within an hour, "
            "and the run can be ended and started again meanwhile"
        )
        return batch_id

    def _listed(self, path: Path, note: BatchNote) -> str | None:
        """The batch of the service's list that a lost order made: of the right size, and not known to be another's.

        None: that list says that the order never arrived. StopRun if it cannot say so.
        """
        batches, whole = self._service.batches_after(note.after)
        found = next((batch.id for batch in batches if note.fits(batch)), None)
        if found is None and not whole:
            raise self._ask_first(path, note, f"the service's list does not reach back to {note.after}, made before it")
        note.listed = found is not None
        return found

    def _ask_first(self, path: Path, note: BatchNote, why: str) -> StopRun:
        """The end of this model's asking: what may be paid already is not ordered anew without being asked for."""
        dollars = f", for up to ${sum(note.most_usd.values()):.2f}" if any(note.most_usd.values()) else ""
        return self._failures.stop_model(
            f"a batch of {len(note.requests)} was ordered at {note.since_utc}{dollars}, and {why}",
            "use the key and the address that it was ordered with; or, to give it up and order its cells anew, for "
            "money, delete this file",
            str(path),
        )

    def _wait_for(self, batch_id: str) -> None:
        """Wait for the end of a batch; Failure of status 404 if the service does not know it any more."""
        context = self.context
        while not self._call(lambda attempt: self._service.batch_has_ended(batch_id)):
            context.rate_limit.sleep(context.retry_policy.batch_poll_s)

    def _fetch(self, batch_id: str, note: BatchNote) -> bool:
        """Put the results into the store, in whatever order they come; False if none shows that the batch is ours."""
        context, provider, requests = self.context, self._service, note.requests
        results = self._call(lambda attempt: provider.batch_results(batch_id))
        ours = [result for result in results if result.key in requests]
        for key, message in ours:
            # A process that died while it collected has stored, and counted, some.
            if message is None or context.store.has(key):
                continue
            facts = context.note(provider) | {"latency_s": None, "transport": "batch"}
            # One that cannot be read is asked again by a single call, like errored and expired ones, but was billed.
            try:
                answer = answer_of(key, requests[key], provider.read(message, requests[key].tool), facts)
            except (Failure, ValueError, KeyError, TypeError):
                context.count_lost(key, requests[key], "batch")
            else:
                answer = context.store.put(answer)
                context.count(answer)
                context.look_at(answer)
        is_ours = bool(ours) or not note.listed or not results
        for key in requests.keys() - {result.key for result in results} if is_ours and results else ():
            context.count_lost(key, requests[key], "batch")  # its line could not be read
        return is_ours

    # ------------------------------------------------------------ calls

    @property
    def _service(self) -> BatchProvider:
        provider = self._provider()
        assert isinstance(provider, BatchProvider)  # `open_provider` looked
        return provider

    def _call(self, call: Callable[[int], Result]) -> Result:
        """A call of the batch interface, told its attempt's number, tried as the policy says; Failure at the end."""
        retrier = self.context.retrier()
        return retrier.run(lambda: call(retrier.attempt))
