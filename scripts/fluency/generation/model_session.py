"""Asking one model: from a cell to its answer, and what all calls of the model share."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

import fluency
from fluency.common.clock import utc_now
from fluency.common.errors import CallError, StopRun, UserError
from fluency.core.cells import Cell
from fluency.core.records import Answer, CellName, Generation, Request
from fluency.core.study import ModelConfig
from fluency.generation.batch_queue import BatchDesk
from fluency.generation.budget import cost_of, most
from fluency.generation.client import Client, Reply
from fluency.generation.failure_policy import ModelStop, Setbacks
from fluency.generation.keys import key_of
from fluency.generation.policies import KEY_PLACEHOLDER, resolve
from fluency.generation.rate_limit import Limiter
from fluency.generation.reply import Failure, answer_of
from fluency.generation.request import PROTOCOL, request_for, request_key
from fluency.generation.retry import Attempts, Patience, patience_for

if TYPE_CHECKING:
    from fluency.generation.generate import Generator


class Lane:
    """One model of a run; safe for threads."""

    def __init__(self, owner: Generator, model: ModelConfig, patience: Patience | None) -> None:
        self.owner, self.model, self.store = owner, model, owner.store
        self.where = f"models: {model.alias}"
        self.policy = resolve(model)
        self.patience = patience or patience_for(model)
        unlimited = model.served_by == "embedded" and "requests_per_minute" not in model.model_fields_set
        rate = None if unlimited else model.requests_per_minute
        self.limiter = Limiter(rate, model.in_flight, longest_pause_s=self.patience.deadline_s)
        self.desk = BatchDesk(self)
        self._client: Client | None = None
        self._opening = threading.Lock()
        self.setbacks = Setbacks(self)
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

    def request(self, cell: Cell, prompt: str) -> Request:
        """What a cell asks as things stand."""
        return request_for(self.owner.study, cell, prompt, refused=self.refused)

    def answer(self, cell: Cell, prompt: str) -> Answer:
        """The stored answer, or a new one."""
        while True:
            request = self.request(cell, prompt)
            key = request_key(request)
            answer = self.store.get(key)
            if answer is None and self.desk.open:
                self.desk.expect(cell, prompt)
                with self.desk.turn():
                    self.desk.collect()
                    # Not proven: one call is the probe before a whole batch goes out.
                    answer = self.store.get(key) if self.limiter.proven else self._obtain(cell, key, request)
            if answer is None and not self.desk.open:
                answer = self._obtain(cell, key, request)
            if answer is not None:
                return answer

    def _obtain(self, cell: Cell, key: str, request: Request) -> Answer | None:
        """The answer from the store or the model, asked by nobody else meanwhile; None: the request is outdated."""
        self._check_room()
        with self.store.lock(key, self.limiter.raise_if_stopped):
            return self.store.get(key) or self._left_behind(key, request) or self._ask(cell, key, request)

    def _check_room(self) -> None:
        try:
            self.store.check_room()
        except StopRun as stop:
            self.owner.stop(stop)
            raise

    def _ask(self, cell: Cell, key: str, request: Request) -> Answer | None:
        attempts = Attempts(self.patience, self.limiter.sleep, self.limiter.pause)

        def attempt() -> Answer:
            self.limiter.raise_if_stopped()  # before a connection is opened, or a model served, for nothing
            slot = self.limiter.slot(attempts.deadline)
            with ExitStack() as call:

                def start() -> float:
                    call.enter_context(slot)
                    if request.temperature is not None and self.refused:
                        raise Failure("the model takes no temperature", scope="temperature")
                    self.owner.budget.check()
                    return attempts.left_s()

                def keep(reply: Reply) -> Answer:
                    answer = self._read(key, request, self._note_of(reply, attempts), reply.body)
                    # The call has ended and is paid: the next may start while the disk takes this one.
                    slot.succeeded(reply.headers)
                    self.store.hold(answer)
                    return answer

                answer = self.client.ask(request, start, keep)
            return self.store.settle(answer)

        try:
            return attempts.run(attempt)
        except Failure as failure:
            self.setbacks.met(failure, cell.path, attempts.number, sampled=request.temperature is not None)
            return None
        except ModelStop:
            raise
        except StopRun as stop:
            self.owner.stop(stop)
            raise
        except CallError as error:
            raise CallError(error.what, where=error.where or cell.path, hint=error.hint) from None

    def _read(self, key: str, request: Request, note: Mapping[str, object], body: bytes) -> Answer:
        """The answer in a reply, with its cost counted; Failure if the reply holds none."""
        try:
            answer = answer_of(key, request, body, note)
        except Failure:
            raise
        except Exception as error:
            self.store.keep_unread(key, note, body)
            raise CallError(
                f"an answer came that could not be read ({type(error).__name__})",
                where=str(self.store.unread_path(key)),
                hint="the reply is kept there and is not asked for again; please report it",
            ) from error
        self.setbacks.over()
        self.bought(answer)
        return answer

    def _left_behind(self, key: str, request: Request) -> Answer | None:
        """What an earlier run bought and could not put into the store, if there is anything."""
        answer = self.store.held(key)
        if answer is not None:
            self.bought(answer)
            return self.store.settle(answer)
        unread = self.store.unread(key)
        if unread is None:
            return None
        try:
            answer = self.store.put(self._read(key, request, *unread))
        except Failure:
            answer = None
        self.store.unread_path(key).unlink(missing_ok=True)
        return answer

    def _note_of(self, reply: Reply, attempts: Attempts) -> dict[str, object]:
        """What a single call's answer says about how it was got."""
        own = {"attempts": attempts.number, "latency_s": round(reply.latency_s, 4)}
        return self.note() | own | {"request_id": reply.headers.get("request-id")}

    def note(self) -> dict[str, object]:
        """What every answer says about where it came from."""
        embedded = self.model.served_by == "embedded"
        server = "embedded" if embedded else self.client.server
        return {"received_utc": utc_now("milliseconds"), "server": server, "client": self.client.name}

    def bought(self, answer: Answer) -> None:
        """Count an answer's cost, the most it can be where the service did not say, and look at who answered."""
        cost = cost_of(self.policy, answer)
        bound = most(self.policy, answer.request.prompt, answer.transport)
        self.owner.budget.add(bound if cost is None else cost)
        echoed = answer.model_echoed
        same = self.model.served_by == "embedded" or echoed is None or echoed.startswith(self.model.id)
        if not same and echoed not in self._noted:
            self._noted.add(str(echoed))
            self.owner.say(f"{self.where}: asked for {self.model.id}, answered by {echoed} (recorded with each answer)")

    # ------------------------------------------------------------ the rest

    @property
    def client(self) -> Client:
        """The model's connection, opened on its first call."""
        with self._opening:
            if self._client is None:
                key = key_of(self.model, self.owner.environ)
                try:
                    self.desk.check_transport()
                    in_headers = any(KEY_PLACEHOLDER in value for value in self.policy.headers.values())
                    self._client = Client(self.owner.address_of(self.model), key, key_in_headers=in_headers)
                except UserError as error:
                    raise self.setbacks.stop(error.what, error.hint, error.where) from error
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

    def close(self) -> None:
        """Close the connection if there is one."""
        if self._client is not None:
            self._client.close()
