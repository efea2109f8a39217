"""Asking one model: from a cell to its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import fluency
from fluency.common.clock import utc_now
from fluency.common.errors import CallError, StopRun, UserError
from fluency.common.files import sha256
from fluency.common.locks import Once
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.core.records import Answer, Generation, Request
from fluency.core.study import Cell, ModelConfig, Study
from fluency.generation.budget import Budget, cost_of, upper_bound_usd
from fluency.generation.failure import (
    Failure,
    ModelStop,
    RetryPolicy,
    unreadable,
    wait_s,
    worth_another_attempt,
)
from fluency.generation.keys import key_of
from fluency.generation.pace import Pace, starts_per_minute
from fluency.generation.policies import resolve
from fluency.generation.providers import open_provider, read_reply
from fluency.generation.providers.sdk_provider import Provider
from fluency.generation.reply import answer_of, decode
from fluency.generation.request import PROTOCOL, request_for, request_key
from fluency.generation.store import AnswerStore


class ModelSession:
    """One model of a run; safe for threads.

    address_of: where the model is served. stop_run: ends all asking of the run.
    """

    def __init__(
        self,
        study: Study,
        model: ModelConfig,
        *,
        store: AnswerStore,
        budget: Budget,
        retry: RetryPolicy,
        environ: Mapping[str, str],
        address_of: Callable[[ModelConfig], str | None],
        stop_run: Callable[[StopRun], None],
    ) -> None:
        self.study, self.model, self.store, self.budget, self.retry = (
            study,
            model,
            store,
            budget,
            retry,
        )
        self.where = f"models: {model.alias}"
        self.policy = resolve(model)
        self.pace = Pace(
            starts_per_minute(model), model.in_flight, longest_pause_s=retry.deadline_s
        )
        self.provider = Once(self._open_provider)
        self.answered = False
        """Whether the model has answered a call of this run."""
        self._environ, self._address_of, self._stop_run = environ, address_of, stop_run
        self._first, self._change = threading.Lock(), threading.Lock()
        self._cells_without_answer = 0
        self._echoed: set[str] = set()
        self._bodies: set[str] = set()
        """The hashes of this run's replies."""

    def answer(self, cell: Cell, prompt: str) -> Answer:
        """The stored answer, or a new one."""
        request = request_for(self.study, cell, prompt)
        key = request_key(request)
        try:
            return self.store.get(key) or self._ask(request, key, cell.path)
        except StopRun as stop:
            (self.pace.stop if isinstance(stop, ModelStop) else self._stop_run)(stop)
            raise

    def record(self, cell: Cell, answer: Answer, task_sha256: str) -> Generation:
        """The cell's record; the same whenever it is made from the same answer."""
        price = self.policy.price_of(answer.transport)
        return Generation(
            cell=cell,
            answer=answer,
            temperature_requested=self.policy.temperature_requested,
            cost_usd=cost_of(self.policy, answer),
            price=None if price is None else price.model_dump(),
            task_sha256=task_sha256,
            provenance={
                "fluency": fluency.__version__,
                "protocol": PROTOCOL,
                "policy": self.policy.source,
            },
        )

    def close(self) -> None:
        """Close the connection if there is one."""
        if self.provider.made is not None:
            self.provider.made.close()

    # ------------------------------------------------------------ one call

    def _ask(self, request: Request, key: str, where: str) -> Answer:
        """A new answer, or that which a cell with the same request has just got. The model's first call goes alone."""
        with self.store.lock(key):
            if (answer := self.store.get(key)) is not None:
                return answer
            if not self.answered:
                with self._first:
                    if not self.answered:
                        return self._attempts(request, key, where)
            return self._attempts(request, key, where)

    def _attempts(self, request: Request, key: str, where: str) -> Answer:
        self.pace.raise_if_stopped()  # before a connection is opened, or a model served, for nothing
        provider, attempt = self.provider(), 0
        deadline = time.monotonic() + self.retry.deadline_s
        while True:
            attempt += 1
            try:
                return self._call(provider, request, key, attempt, deadline)
            except Failure as failure:
                if not self.waited(failure, attempt, deadline):
                    raise self.given_up(failure, attempt, where) from None

    def waited(self, failure: Failure, attempt: int, deadline: float) -> bool:
        """Wait for the next attempt; False, at once, if no attempt is left."""
        wait = wait_s(self.retry, failure, attempt)
        if failure.slow_down:
            self.pace.pause(wait)
        if not worth_another_attempt(self.retry, failure, attempt, deadline, wait):
            return False
        self.pace.sleep(wait)
        return True

    def _call(
        self, provider: Provider, request: Request, key: str, attempt: int, deadline: float
    ) -> Answer:
        """One call; its answer is in the store when this returns. Failure if there is none."""
        self.store.check_room()
        most = upper_bound_usd(self.policy, request.prompt)
        with self.pace.slot(), self.budget.call(most):
            self.budget.check()
            seconds = min(self.retry.attempt_s, max(1.0, deadline - time.monotonic()))
            try:
                reply = provider.send(provider.prepare(request, seconds), seconds)
                note = {
                    "attempts": attempt,
                    "latency_s": round(reply.latency_s, 4),
                    "request_id": reply.request_id,
                }
                message = decode(reply.body)
                self._refuse_repeated(message, reply.body)
                answer = self.answer_in(message, key, request, note)
            except Failure as failure:
                if failure.billed:
                    self.budget.add(most)
                raise
            answer = self.keep(answer)
            self.pace.pause(reply.pause_s)
        self.answered, self._cells_without_answer = True, 0
        return answer

    def _refuse_repeated(self, message: Any, body: bytes) -> None:
        """Failure for a body that another call of this run got, with the id of its response: it answers that call."""
        if not isinstance(message, dict) or not message.get("id"):
            return
        digest = sha256(body)
        with self._change:
            is_new = digest not in self._bodies
            self._bodies.add(digest)
        if not is_new:
            raise Failure(
                "the service sent the reply to another request", scope="retry", billed=True
            )

    def answer_in(
        self, message: Any, key: str, request: Request, note: Mapping[str, object]
    ) -> Answer:
        """The answer in a decoded reply; Failure if it is none."""
        server = "embedded" if self.model.served_by == "embedded" else self.provider().server
        source = {
            "received_utc": utc_now("milliseconds"),
            "server": server,
            "client": self.provider().name,
        }
        try:
            return answer_of(key, request, read_reply(request, message), {**source, **note})
        except Failure:
            raise
        except Exception as error:  # a bug: the reply is counted, and asked for again
            raise unreadable(
                f"the reply could not be read ({type(error).__name__}; please report it)"
            ) from None

    def keep(self, answer: Answer) -> Answer:
        """Count an answer's cost, or its upper bound where the service gave none, and put it into the store."""
        cost = cost_of(self.policy, answer)
        most = upper_bound_usd(self.policy, answer.request.prompt, answer.transport)
        self.budget.add(most if cost is None else cost)
        answer = self.store.put(answer)
        echoed = answer.model_echoed
        if echoed and not echoed.startswith(self.model.id) and self.model.served_by != "embedded":
            with self._change:
                is_new = echoed not in self._echoed
                self._echoed.add(echoed)
            if is_new:
                log_line(
                    f"{self.where}: asked for {self.model.id}, answered by {echoed} (recorded with each answer)"
                )
        return answer

    def given_up(self, failure: Failure, attempts: int, where: str) -> CallError:
        """What a failure means after so many attempts: for the run, the model or this cell."""
        what, hint = failure.what, failure.hint
        if failure.retry_after and failure.retry_after > self.retry.deadline_s:
            what = f"{what} (the service asks to wait {failure.retry_after:.0f} s)"
        if failure.scope == "run":
            return StopRun(what, where=self.where, hint=hint)
        what = f"{what} (tried {attempts} times)" if attempts > 1 else what
        if failure.scope == "model" or not self.answered:
            return ModelStop(
                what, where=self.where, hint=hint or "check the endpoint, or wait; then run again"
            )
        if failure.scope == "retry":
            with self._change:
                self._cells_without_answer += 1
                lost = self._cells_without_answer
            if lost >= self.retry.lost_cells:
                what = f"{plural(lost, 'cell')} in a row got no answer; the last: {what}"
                return ModelStop(what, where=self.where, hint="run again later")
        return CallError(
            what, where=where, hint=hint or "the cell stays to be run: run again later"
        )

    def _open_provider(self) -> Provider:
        key = key_of(self.model, self._environ)
        try:
            return open_provider(self.model, self._address_of(self.model), key)
        except UserError as error:
            raise ModelStop(error.what, where=error.where or self.where, hint=error.hint) from error
