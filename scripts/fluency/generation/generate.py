"""The generation of a cell: out of the store, or by asking the model, once and for ever."""

from __future__ import annotations

import datetime as dt
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import tenacity

import fluency
from fluency.cells import Cell
from fluency.errors import CallError, StopRun, UserError
from fluency.generation.budget import Budget, cost_of, most
from fluency.generation.client import PROVIDER_URL, Client, Reply, check_base_url
from fluency.generation.keys import key_of, redact
from fluency.generation.limiter import Limiter
from fluency.generation.outcome import Failure, read_reply
from fluency.generation.policies import Policy, resolve
from fluency.generation.request import PROTOCOL, request_for, request_key
from fluency.generation.store import AnswerStore
from fluency.records import Answer, CellName, Generation, Request
from fluency.study import Model, Study


@dataclass(frozen=True)
class Patience:
    """How long a cell is tried, in seconds: one attempt, all attempts; waits double from `first_wait_s`."""

    attempt_s: float = 120.0
    deadline_s: float = 600.0
    attempts: int = 8
    unreadable_attempts: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    lost_cells: int = 5
    batch_poll_s: float = 20.0


LOCAL = Patience(attempt_s=600.0, deadline_s=1800.0)


class Generator:
    """Asks the models of a study; one for a run, used by all its threads.

    `base_urls` (alias → address) or `base_url` (called once, on the model's first call) say where models are that
    the config gives no address for. `spent_usd` is what earlier runs spent on the study.
    """

    def __init__(
        self,
        study: Study,
        *,
        store: AnswerStore,
        base_urls: Mapping[str, str] | None = None,
        base_url: Callable[[Model], str] | None = None,
        environ: Mapping[str, str] | None = None,
        say: Callable[[str], None] = print,
        patience: Patience | None = None,
        spent_usd: float = 0.0,
    ) -> None:
        self.study, self.store, self.say = study, store, say
        # A copy: opening a client hides part of the environment for a moment.
        self.environ = dict(os.environ if environ is None else environ)
        self.budget = Budget(study.budget.stop_usd, spent_usd)
        self._base_urls, self._base_url = dict(base_urls or {}), base_url
        self._lanes = {model.alias: Lane(self, model, patience) for model in study.models}

    def generate(self, cell: Cell, prompt: str, task_sha256: str) -> Generation:
        """The cell's record; CallError if the model could not be asked now, StopRun if nobody should go on asking."""
        lane = self._lanes[self.study.model(cell.model).alias]
        return lane.record(cell, lane.answer(cell, prompt), task_sha256)

    def stop(self, reason: StopRun) -> None:
        """Hold back every further call of the run."""
        for lane in self._lanes.values():
            lane.limiter.stop(reason)

    def address_of(self, model: Model) -> str:
        """Where a model is asked; starts the embedded server if that is what the given callable does."""
        where = f"models: {model.alias}: base_url"
        url = self._base_urls.get(model.alias) or model.base_url
        if url is None and model.served_by == "embedded":
            if self._base_url is None:
                raise UserError("nobody serves the embedded model", where=where, hint="start it with the run")
            url = self._base_url(model)
        elif url is None:
            url = PROVIDER_URL
        address, note = check_base_url(url, where)
        if note:
            self.say(note)
        return address

    def close(self) -> None:
        """Close all connections."""
        for lane in self._lanes.values():
            lane.close()


class Lane:
    """Everything that asking one model shares."""

    def __init__(self, owner: Generator, model: Model, patience: Patience | None) -> None:
        self.owner, self.model, self.store = owner, model, owner.store
        self.policy: Policy = resolve(model)
        local = model.served_by == "embedded" or not model.key_required
        self.patience = patience or (LOCAL if local else Patience())
        unlimited = model.served_by == "embedded" and "requests_per_minute" not in model.model_fields_set
        self.limiter = Limiter(
            None if unlimited else model.requests_per_minute,
            model.in_flight,
            longest_pause_s=self.patience.deadline_s,
        )
        self._client: Client | None = None
        self._opening = threading.Lock()
        self._lost = 0
        self._noted: set[str] = set()

    # ------------------------------------------------------------ answers

    @property
    def refused(self) -> bool:
        """Whether this model's cells go without the temperature it was to have."""
        return (
            self.policy.temperature_sent is not None
            and self.model.on_refused_temperature == "provider-default"
            and self.store.temperature_refused(self.model.id)
        )

    def answer(self, cell: Cell, prompt: str) -> Answer:
        """The stored answer, or a new one."""
        while True:
            refused = self.refused
            request = request_for(self.owner.study, cell, prompt, refused=refused)
            key = request_key(request)
            answer = self.store.get(key)
            if answer is None:
                with self.store.lock(key, self.limiter.raise_if_stopped):
                    answer = self.store.recover(key) or self._unread(key, request) or self._ask(cell, key, request)
            if answer is not None:
                return answer

    def _ask(self, cell: Cell, key: str, request: Request) -> Answer | None:
        """Ask until there is an answer or no patience left; None if the request itself has to be made anew."""
        deadline: float | None = None

        def attempt() -> Answer | None:
            nonlocal deadline
            with self.limiter.slot(deadline):
                if request.temperature is not None and self.refused:
                    return None
                self.owner.budget.check()
                self.store.check_room()
                deadline = deadline or time.monotonic() + self.patience.deadline_s
                left = max(1.0, deadline - time.monotonic())
                reply = self.client.ask(request, min(self.patience.attempt_s, left))
                return self._keep(key, request, reply, retrying.statistics.get("attempt_number", 1))

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, Failure) and error.scope == "retry"),
            stop=lambda state: self._give_up(state, deadline),
            wait=self._wait_s,
            sleep=self.limiter.sleep,
            reraise=True,
        )
        try:
            return retrying(attempt)
        except Failure as failure:
            tried = retrying.statistics.get("attempt_number", 1)
            return self._failed(cell, request, failure, tried)
        except StopRun as stop:
            if not isinstance(stop, ModelStop):
                self.owner.stop(stop)
            raise
        except CallError as error:
            raise CallError(error.what, where=error.where or cell.path, hint=error.hint) from None

    def _keep(self, key: str, request: Request, reply: Reply, attempts: int) -> Answer | None:
        """The reply, durably kept before anything else is done with it."""
        note = {
            "latency_s": round(reply.latency_s, 4),
            "attempts": attempts,
            "received_utc": utc_now(),
            "request_id": reply.headers.get("request-id"),
            "server": "embedded" if self.model.served_by == "embedded" else self.client.server,
            "client": self.client.name,
        }
        try:
            answer = self.store.put(answer_of(key, request, reply.body, note))
        except (Failure, StopRun):
            raise
        except Exception as error:
            raise _unread_error(self.store.keep_unread(key, note, reply.body), error) from error
        self.limiter.succeeded(reply.headers)
        self._lost = 0
        cost = cost_of(self.policy, answer)
        self.owner.budget.add(most(self.policy, request.prompt) if cost is None else cost)
        self._compare_model(answer)
        return answer

    def _unread(self, key: str, request: Request) -> Answer | None:
        """An answer from a reply that an earlier version could not read."""
        kept = self.store.unread(key)
        if kept is None:
            return None
        try:
            return self.store.put(answer_of(key, request, kept[1], kept[0]))
        except StopRun:
            raise
        except Exception as error:
            raise _unread_error(self.store.unread_path(key), error) from error

    # ------------------------------------------------------------ failures

    def _give_up(self, state: tenacity.RetryCallState, deadline: float | None) -> bool:
        failure = state.outcome.exception() if state.outcome else None
        most_attempts = self.patience.attempts
        if isinstance(failure, Failure) and failure.unreadable:
            most_attempts = self.patience.unreadable_attempts
        wait = self._wait_s(state)
        if isinstance(failure, Failure) and failure.slow_down:
            self.limiter.pause(wait)
        too_late = deadline is not None and time.monotonic() + wait > deadline
        return state.attempt_number >= most_attempts or too_late

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        """Seconds until the next attempt: what the service asks for or doubling waits, and up to a quarter more."""
        failure = state.outcome.exception() if state.outcome else None
        wait = min(self.patience.first_wait_s * 2 ** (state.attempt_number - 1), self.patience.longest_wait_s)
        if isinstance(failure, Failure) and failure.retry_after is not None:
            wait = max(wait, failure.retry_after)
        return wait * (1 + random.random() / 4)

    def _failed(self, cell: Cell, request: Request, failure: Failure, tried: int) -> None:
        """Raise what the failure means, after telling the other calls; returns if the cell is to be asked anew."""
        what = redact(failure.what)
        where = f"models: {self.model.alias}"
        if failure.scope == "temperature" and request.temperature is not None:
            self._temperature_refused(what, failure.hint, where)
            return
        if failure.scope == "run":
            stop = StopRun(what, where=where, hint=failure.hint)
            self.owner.stop(stop)
            raise stop
        if failure.scope == "model":
            raise self._stop_model(what, failure.hint)
        times = f" (tried {tried} times)" if tried > 1 else ""
        if not self.limiter.proven:
            raise self._stop_model(f"{what}{times}", failure.hint or "check the endpoint, then run again")
        if failure.scope == "retry":
            self._lost += 1
            if self._lost >= self.patience.lost_cells:
                raise self._stop_model(
                    f"{self._lost} cells in a row got no answer; the last: {what}", "run again later"
                )
        hint = failure.hint or "the cell stays to be run: run again later"
        raise CallError(f"{what}{times}", where=cell.path, hint=hint)

    def _stop_model(self, what: str, hint: str, where: str = "") -> StopRun:
        stop = ModelStop(what, where=where or f"models: {self.model.alias}", hint=hint)
        self.limiter.stop(stop)
        return stop

    def _temperature_refused(self, what: str, hint: str, where: str) -> None:
        """Go on without a temperature if the config says so and no cell has been answered with one; else stop."""
        if self.refused:
            return
        if self.model.on_refused_temperature != "provider-default":
            raise self._stop_model(what, hint)
        with_temperature = any(a.request.temperature is not None for a in self._own_answers())
        if with_temperature:
            raise self._stop_model(
                f"{what}; but it answered other cells with one, and the two must not be mixed",
                "put `temperature: provider-default` into the model's entry: all of its cells are then asked so",
            )
        self.store.refuse_temperature(self.model.id, what, utc_now())
        self.owner.say(f"{where}: {what}. All of its cells are asked without a temperature (provider default).")

    def _own_answers(self) -> Iterable[Answer]:
        return (answer for answer in self.store.entries() if answer.request.model_id == self.model.id)

    # ------------------------------------------------------------ the rest

    @property
    def client(self) -> Client:
        """The model's connection, opened on its first call."""
        with self._opening:
            if self._client is None:
                key = key_of(self.model, self.owner.environ)
                try:
                    self._client = Client(self.owner.address_of(self.model), key)
                except UserError as error:
                    raise self._stop_model(error.what, error.hint, error.where) from error
            return self._client

    def record(self, cell: Cell, answer: Answer, task_sha256: str) -> Generation:
        """The cell's record; the same whenever it is made from the same answer."""
        price = self.policy.price_of(answer.transport)
        return Generation(
            cell=CellName.of(cell),
            answer=answer,
            temperature_requested=self.policy.temperature_requested,
            cost_usd=cost_of(self.policy, answer),
            price=None if price is None else price.model_dump(),
            task_sha256=task_sha256,
            provenance={"fluency": fluency.__version__, "protocol": PROTOCOL, "policy": self.policy.source},
        )

    def _compare_model(self, answer: Answer) -> None:
        echoed = answer.model_echoed
        if self.model.served_by == "embedded" or echoed is None or echoed.startswith(self.model.id):
            return
        if echoed not in self._noted:
            self._noted.add(echoed)
            self.owner.say(f"models: {self.model.alias}: asked for {self.model.id}, answered by {echoed} (recorded)")

    def close(self) -> None:
        """Close the connection if there is one."""
        if self._client is not None:
            self._client.close()


class ModelStop(StopRun):
    """A reason that holds for every further call of one model."""


def answer_of(key: str, request: Request, body: bytes, note: Mapping[str, object]) -> Answer:
    """An answer from a reply's bytes and what was noted beside them; Failure if the reply is no message."""
    reading = read_reply(body)
    return Answer(
        request_key=key,
        request=request,
        outcome=reading.outcome,
        text=reading.text,
        raw=reading.raw,
        stop_reason=reading.stop_reason,
        model_echoed=reading.model_echoed,
        usage=reading.usage,
        **note,
    )


def _unread_error(path: Path, error: Exception) -> CallError:
    return CallError(
        f"an answer came that could not be read ({type(error).__name__})",
        where=str(path),
        hint="the reply is kept there and is not asked for again; please report it",
    )


def utc_now() -> str:
    """Now, as records write it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
