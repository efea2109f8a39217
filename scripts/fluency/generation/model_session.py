"""Asking one model: from a cell to its answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, suppress

import fluency
from fluency.common.errors import CallError, StopRun, UserError
from fluency.common.locks import Once
from fluency.core.records import Answer, Generation, Request
from fluency.core.study import Cell
from fluency.generation.batch_queue import BatchQueue
from fluency.generation.budget import WaitsForBatches, cost_of
from fluency.generation.context import GenerationContext
from fluency.generation.failure import Failure
from fluency.generation.failure_policy import FailurePolicy, ModelStop
from fluency.generation.keys import key_of
from fluency.generation.last_resort import write_down
from fluency.generation.providers import open_provider, read_reply
from fluency.generation.providers.provider import Provider, Reply
from fluency.generation.reply import answer_of, decode
from fluency.generation.request import PROTOCOL, forms_by_key
from fluency.generation.retry import Retrier


class ModelSession:
    """One model of a run; safe for threads."""

    def __init__(self, context: GenerationContext) -> None:
        self.context, self.store = context, context.store
        self.failures = FailurePolicy(context)
        self.provider = Once(self._open_provider)
        self.batches = BatchQueue(context, self.failures, self.provider)

    def answer(self, cell: Cell, prompt: str) -> Answer:
        """The stored answer, or a new one."""
        while True:
            request = self.context.request(cell, prompt)
            answer = self.store.find(request)
            if answer is None and self.batches.open:
                self.batches.expect(cell, prompt)
                with self.batches.lock():
                    self.batches.collect()
                    # Not proven: one call is the probe before a whole batch goes out.
                    proven = self.context.rate_limit.proven
                    answer = self.store.find(request) if proven else self._obtain(cell, request)
            if answer is None and not self.batches.open:
                answer = self._obtain(cell, request)
            if answer is not None:
                return answer

    def record(self, cell: Cell, answer: Answer, task_sha256: str) -> Generation:
        """The cell's record; the same whenever it is made from the same answer."""
        policy = self.context.policy
        price = policy.price_of(answer.transport)
        return Generation(
            cell=cell,
            answer=answer,
            temperature_requested=policy.temperature_requested,
            cost_usd=cost_of(policy, answer),
            price=None if price is None else price.model_dump(),
            task_sha256=task_sha256,
            provenance={"fluency": fluency.__version__, "protocol": PROTOCOL, "policy": policy.source},
        )

    def close(self) -> None:
        """Close the connection if there is one."""
        if self.provider.made is not None:
            self.provider.made.close()

    # ------------------------------------------------------------ one answer

    def _obtain(self, cell: Cell, request: Request) -> Answer | None:
        """The answer from the store or the model, asked by nobody else meanwhile; None: the request is outdated."""
        try:
            self.store.check_room()
        except StopRun as stop:
            self.context.stop_run(stop)
            raise
        forms = forms_by_key(request)
        key = next(iter(forms))
        with self.store.lock(key, self.context.rate_limit.raise_if_stopped):
            return self.store.first_of(forms) or self._left_behind(forms) or self._ask(cell, key, request)

    def _left_behind(self, forms: Mapping[str, Request]) -> Answer | None:
        """What an earlier run bought under one of the keys and could not put into the store, if there is anything."""
        for key, form in forms.items():
            answer = self.store.pending(key)
            if answer is None and (quarantined := self.store.quarantined(key)) is not None:
                with suppress(Failure):  # no message after all
                    answer = self._take(key, form, *quarantined)
                self.store.quarantine_path(key).unlink(missing_ok=True)
            if answer is not None:
                answer = self.store.commit(answer)
                self.context.count(answer)
                self.context.look_at(answer)
                return answer
        return None

    def _ask(self, cell: Cell, key: str, request: Request) -> Answer | None:
        retrier = self.context.retrier()
        try:
            return retrier.run(lambda: self._attempt(key, request, retrier))
        except Failure as failure:
            if failure.scope != "temperature" or request.temperature is None:
                self.failures.raise_for(failure, cell.path, retrier.attempt)
            self.failures.temperature_refused(failure)
            return None
        except ModelStop:
            raise
        except WaitsForBatches as wait:  # this model's turn is later; a batch of another one is minded on
            raise self.failures.stop_model(wait.what, wait.hint, wait.where) from None
        except StopRun as stop:
            self.context.stop_run(stop)
            raise
        except CallError as error:
            raise CallError(error.what, where=error.where or cell.path, hint=error.hint) from None
        finally:
            self.context.rate_limit.gave_up(retrier)

    def _attempt(self, key: str, request: Request, retrier: Retrier) -> Answer:
        """One call; its answer is in the store when it returns."""
        context = self.context
        context.rate_limit.raise_if_stopped()  # before a connection is opened, or a model served, for nothing
        provider = self.provider()
        slot = context.rate_limit.slot(retrier.deadline, retrier)
        kept: list[Answer] = []
        with ExitStack() as call:

            def budget_s() -> float:
                call.enter_context(slot)
                if request.temperature is not None and context.temperature_refused:
                    raise Failure("the model takes no temperature", scope="temperature")
                context.budget.check()
                return retrier.left_s()

            def keep(reply: Reply) -> None:
                own = {"attempts": retrier.attempt, "latency_s": round(reply.latency_s, 4)}
                note = context.note(provider) | own | {"request_id": reply.request_id}
                kept.append(self._take(key, request, note, reply.body))
                # Counted, then the next may start while the disk flushes this one.
                context.count(kept[0])
                slot.succeeded(reply.pause_s)

            try:
                provider.ask(request, budget_s, keep)
            except Failure as failure:
                if not kept:  # else it matters no more what became of the connection
                    if failure.billed:  # counted before the next call may start
                        context.count_lost(key, request)
                    raise
            finally:
                kept = [self.store.commit(answer) for answer in kept]
        context.look_at(kept[0])
        return kept[0]

    def _take(self, key: str, request: Request, note: Mapping[str, object], body: bytes) -> Answer:
        """The answer in a reply, pending before anything else is done with it; Failure if the reply holds none."""
        try:
            answer = answer_of(key, request, read_reply(request, decode(body)), note)
            write_down(self.context, answer)
        except (Failure, StopRun):
            raise
        except Exception as error:
            try:
                self.store.quarantine(key, note, body)
            except StopRun as full:
                self.context.count_lost(key, request)
                what = f"a reply that could not be read is lost, and counts as the dearest it can be: {full.what}"
                raise StopRun(what, where=full.where, hint=full.hint) from error
            self.context.count_lost(key, request, for_good=False)
            raise CallError(
                f"an answer came that could not be read ({type(error).__name__})",
                where=str(self.store.quarantine_path(key)),
                hint="the reply is kept there and is not asked for again; please report it",
            ) from error
        self.failures.succeeded()
        return answer

    def _open_provider(self) -> Provider:
        context, model = self.context, self.context.model
        key = key_of(model, context.environ)
        try:
            self.batches.check_transport()
            return open_provider(model, context.url_of(model), key, context.environ)
        except UserError as error:
            raise self.failures.stop_model(error.what, error.hint, error.where) from error
