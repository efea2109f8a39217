"""The generation of a cell: from the store, or by asking its model."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field

import fluency
from fluency.common.clock import utc_now
from fluency.common.errors import CallError, StopRun, UserError
from fluency.common.files import sha256
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.core.records import Answer, Generation, Request
from fluency.core.reply_marks import thinking_end
from fluency.core.study import Cell, ModelConfig, Study
from fluency.generation.api_keys import keys_of
from fluency.generation.budget import Budget
from fluency.generation.failure import (
    THINKING_HINT,
    Failure,
    ModelStop,
    RetryPolicy,
    retry_policy_for,
    wait_s,
)
from fluency.generation.local_model.server import address_of
from fluency.generation.pace import Pace
from fluency.generation.policies import Policy, resolve
from fluency.generation.providers import PROVIDERS, answer_to
from fluency.generation.providers.sdk_provider import Provider
from fluency.generation.reply import decode
from fluency.generation.request import planned_after, same_history
from fluency.generation.store import AnswerStore, DamagedAnswer

CACHE_HINT = (
    "switch the cache of the gateway or proxy off for this study (LiteLLM: "
    "`cache: {no-cache: true}` in `extra_body`): every trial needs an answer of its own"
)


CONTEXT_FULL = "context full"
"""Why a conversation ends that its model does not take."""


class ContextFull(CallError):
    """A conversation that is longer than the model or its server takes."""


@dataclass
class _Asked:
    """One model of a run: how it is asked, and what the run has seen of it.

    Attributes:
        provider: Opened by the first call, which runs alone.
        answered: Whether the model has answered a call of this run, or refused its prompt.
        lost: Cells in a row that got no answer, with their prompts; a refused prompt counts once.
        seen: Prompts, hashes of replies, and what was said of them.
        ids: Each reply's id -> the prompts and texts that it came with.
    """

    model: ModelConfig
    policy: Policy
    retry: RetryPolicy
    pace: Pace
    provider: Provider | None = None
    answered: bool = False
    lost: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    ids: dict[str, set[str]] = field(default_factory=dict)
    first_call: threading.Lock = field(default_factory=threading.Lock)
    change: threading.Lock = field(default_factory=threading.Lock)

    @property
    def where(self) -> str:
        return f"models: {self.model.alias}"

    def repeats(self, answer: Answer) -> bool:
        """Whether the answer's id came before, always with this prompt and text; notes them."""
        said = answer.request.text + answer.text
        known = self.ids.setdefault(str(answer.raw.get("id")), set())
        repeated = known == {said}
        known.add(said)
        return repeated


class Generator:
    """Asks the models of a study; one for a run, used by all its threads."""

    def __init__(
        self,
        study: Study,
        *,
        store: AnswerStore,
        address_of: Callable[[ModelConfig], str | None] = address_of,
        environ: Mapping[str, str] | None = None,
        retry_policy: RetryPolicy | None = None,
        spent_usd: float = 0.0,
    ) -> None:
        """Lock the store.

        Args:
            address_of: Where a model is served, None for the wire's own address; called before
                a model's first call.
            retry_policy: Instead of the model's own, for tests.
            spent_usd: What earlier runs spent on the study, counted by budget.stop_usd.

        Raises:
            StopRun: Another run has locked the store.
        """
        store.hold()
        self._open = ExitStack()
        self._open.callback(store.release)
        self.study, self.store = study, store
        self.budget = Budget(study.budget.stop_usd, spent_usd)
        self._address_of = address_of
        self._environ = os.environ if environ is None else environ
        self._models: dict[str, _Asked] = {}
        for model in study.models:
            retry = retry_policy or retry_policy_for(model)
            pace = Pace(model.starts_per_minute, model.in_flight, longest_pause_s=retry.deadline_s)
            self._models[model.alias] = _Asked(model, resolve(model), retry, pace)

    def generate(self, cell: Cell, request: Request, task_sha256: str) -> Generation:
        """The cell's record; the same whenever it is made from the same answer.

        Raises:
            CallError: The model could not be asked now.
            StopRun: It should not be asked again.
        """
        asked = self._models[cell.model]
        return generation_of(cell, asked.policy, self._answer(asked, request, cell), task_sha256)

    def stop(self, reason: StopRun) -> None:
        """Make no further call."""
        for asked in self._models.values():
            asked.pace.stop(reason)

    def close(self) -> None:
        """Close all connections and release the store."""
        self._open.close()

    # ------------------------------------------------------------ one cell

    def _answer(self, asked: _Asked, request: Request, cell: Cell) -> Answer:
        """The stored answer, also one that a cell with the same request has just got, or a new one.

        Until the model has answered, one call runs at a time: a bad key or address costs one call.
        """
        key = request.key
        with self.store.lock(key), ExitStack() as alone:
            if (answer := self.store.get(key)) and same_history(answer.request, request):
                return answer
            alone.enter_context(asked.first_call)
            if asked.answered:
                alone.close()
            try:
                return self._ask(asked, request, cell)
            except StopRun as stop:  # before the next cell may ask
                (asked.pace if isinstance(stop, ModelStop) else self).stop(stop)
                raise

    def _ask(self, asked: _Asked, request: Request, cell: Cell) -> Answer:
        asked.pace.raise_if_stopped()  # before a model is served for nothing
        provider = asked.provider = asked.provider or self._open_provider(asked.model)
        retry, attempt = asked.retry, 0
        deadline = time.monotonic() + retry.deadline_s
        while True:
            attempt += 1
            self.store.check_room()
            try:
                with (
                    asked.pace.slot(self.study.priority(cell)),
                    self.budget.call(asked.policy.upper_bound_usd(request.text)),
                ):
                    asked.pace.raise_if_stopped()  # while it waited
                    seconds = min(retry.attempt_s, max(1.0, deadline - time.monotonic()))
                    reply = provider.send(request, seconds)
                    answer = answer_to(
                        request,
                        decode(reply.body),
                        received_utc=utc_now("milliseconds"),
                        server="embedded" if asked.model.is_embedded else provider.server,
                        client=provider.name,
                        attempts=attempt,
                        latency_s=round(reply.latency_s, 4),
                        request_id=reply.request_id,
                    )
                    self._refuse_repeated(asked, answer, reply.body)
                    self.budget.add(asked.policy.counted_usd(answer))
                    answer = self.store.put(answer)
            except Failure as failure:
                wait = wait_s(retry, failure, attempt)
                if failure.slow_down:
                    asked.pace.pause(wait)
                most = retry.billed_attempts if failure.billed else retry.attempts
                late = time.monotonic() + wait > deadline
                if failure.scope != "retry" or attempt >= most or late:
                    raise self._given_up(asked, failure, attempt, cell, request.text) from None
                asked.pace.sleep(wait)
            else:
                asked.answered, asked.lost = True, {}
                self._warn(asked, answer)
                return answer

    def _refuse_repeated(self, asked: _Asked, answer: Answer, body: bytes) -> None:
        """Failure for a reply with an id that another call got, whole, or as prompt, id and text.

        An id that came with several prompts or texts shows nothing: some servers have one for all.
        """
        request = answer.request
        if answer.raw.get("id") is None or asked.policy.seeded:
            return
        trials = (of_trial(request, n + 1) for n in range(self.study.trials))
        with asked.change:
            if request.text not in asked.seen:  # its other trials that earlier runs got
                asked.seen.add(request.text)
                for trial in trials:
                    with suppress(DamagedAnswer):
                        if one := self.store.get(trial.key):
                            asked.repeats(one)
            if asked.repeats(answer) or sha256(body) in asked.seen:
                what = "the service sent a reply again: something caches replies"
                raise Failure(what, billed=True, hint=CACHE_HINT)
            asked.seen.add(sha256(body))

    def _warn(self, asked: _Asked, answer: Answer) -> None:
        """Say once that another model than the requested one answered, and that it thinks aloud."""
        name, echoed, notes = asked.model.id, answer.model_echoed, set()
        if echoed and not echoed.startswith(name) and not asked.model.is_embedded:
            notes.add(f"asked for {name}, answered by {echoed} (recorded with each answer)")
        if thinking_end(answer.text):
            what = "an answer holds the model's thinking, which is read as part of its command"
            notes.add(f"{what}; {THINKING_HINT}")
        with asked.change:
            notes -= asked.seen
            asked.seen |= notes
        for note in notes:
            log_line(f"{asked.where}: {note}")

    def _given_up(
        self, asked: _Asked, failure: Failure, attempts: int, cell: Cell, prompt: str
    ) -> CallError:
        """What a failure means after the last attempt: for the run, the model or this cell.

        No single prompt ends a model; the loss of several does before its first answer, and of
        `lost_cells` in a row later.
        """
        what, hint = failure.what, failure.hint
        if failure.retry_after and failure.retry_after > asked.retry.deadline_s:
            what = f"{what} (the service asks to wait {failure.retry_after:.0f} s)"
        what = f"{what} (tried {attempts} times)" if attempts > 1 else what
        hint = hint or "check the endpoint, or wait; then run again: the cell stays to be run"
        if failure.scope == "run":
            return StopRun(what, where=asked.where, hint=hint)
        if failure.scope == "context" and cell.turn > 1:
            return ContextFull(what, where=cell.path, hint=hint)
        with asked.change:
            asked.answered |= failure.scope == "prompt"  # so key, address and entry are right
            asked.lost[prompt if failure.scope == "prompt" else cell.path] = prompt
            lost, several = len(asked.lost), len({*asked.lost.values()}) > 1
        if failure.scope != "model":
            if not several or (asked.answered and lost < asked.retry.lost_cells):
                return CallError(what, where=cell.path, hint=hint)
            what = f"{plural(lost, 'cell')} in a row got no answer; the last: {what}"
        return ModelStop(what, where=asked.where, hint=hint)

    def _open_provider(self, model: ModelConfig) -> Provider:
        keys = keys_of(model, self._environ)
        try:
            provider = PROVIDERS[model.wire](model, self._address_of(model), keys)
        except UserError as error:
            raise ModelStop(error.what, where=error.where, hint=error.hint) from error
        return self._open.enter_context(closing(provider))


def of_trial(request: Request, trial: int) -> Request:
    """A request of another trial of its cell, of a later turn as it is planned."""
    made = request.model_copy(update={"trial": trial, "follow_up": [], "earlier": None})
    if earlier := request.earlier:
        for _ in request.follow_up[::2]:
            made = planned_after(made, earlier.world_sha256)
    return made


def not_asked(before: Generation, cell: Cell, why: str) -> Generation:
    """The record of a turn that does not follow `before`, which it keeps."""
    return before.model_copy(update={"cell": cell, "ended": why, "cost_usd": None})


def generation_of(cell: Cell, policy: Policy, answer: Answer, task_sha256: str) -> Generation:
    """The record of a cell whose model, asked by this policy, gave this answer."""
    return Generation(
        cell=cell,
        answer=answer,
        temperature_requested=policy.temperature_requested,
        cost_usd=policy.cost_of(answer),
        price=policy.price,
        task_sha256=task_sha256,
        provenance={"fluency": fluency.__version__, "policy": policy.source},
    )
