"""How fast one model is asked: starts a minute, calls in flight, pauses the service asks for, and a full stop."""

from __future__ import annotations

import threading
import time

from fluency.common.errors import CallError, StopRun
from fluency.core.study import ModelConfig


class Slot:
    """A call in flight, from entering to the end of the block or to `succeeded`, if that comes before."""

    def __init__(self, limit: RateLimit, deadline: float | None, asker: object) -> None:
        self._limit, self._deadline, self._asker, self._running = limit, deadline, asker, False

    def __enter__(self) -> Slot:
        self._limit._enter(self._deadline, self._asker)
        self._running = True
        return self

    def succeeded(self, pause_s: float = 0.0) -> None:
        """The call has ended well; the service asks that none starts for so long."""
        self._limit._succeeded(pause_s)
        self.__exit__()

    def __exit__(self, *exception: object) -> None:
        if self._running:
            self._running = False
            self._limit._leave()


class RateLimit:
    """Shared by all threads that ask one model.

    At most `in_flight` calls at a time, and one asker alone until its call has succeeded; starts follow a token
    bucket of `per_minute` that holds one second's worth (at least one). A pause longer than `longest_pause_s`
    is not waited for: calls fail until it is over.
    """

    def __init__(self, per_minute: float | None, in_flight: int, *, longest_pause_s: float) -> None:
        self._rate = None if per_minute is None else per_minute / 60
        self._room = max(1.0, self._rate or 1.0)
        self._tokens, self._filled = self._room, time.monotonic()
        self._most, self._running, self._proven = in_flight, 0, False
        self._prober: object = None
        self._pause_until, self._longest_pause = 0.0, longest_pause_s
        self._stopped: StopRun | None = None
        lock = threading.Lock()
        self._turn, self._sleepers = threading.Condition(lock), threading.Condition(lock)

    @property
    def proven(self) -> bool:
        """Whether a call has succeeded in this run."""
        return self._proven

    def slot(self, deadline: float | None = None, asker: object = None) -> Slot:
        """The right to start one call, got on entering; CallError at `deadline` (monotonic), StopRun if stopped.

        The asker who comes first keeps the right to be the first, also between its attempts, until `gave_up`.
        """
        return Slot(self, deadline, asker)

    def gave_up(self, asker: object) -> None:
        """An asker makes no further attempt."""
        with self._turn:
            if self._prober is asker:
                self._prober = None
                self._turn.notify()

    def _enter(self, deadline: float | None, asker: object) -> None:
        with self._turn:
            try:
                while (wait := self._wait_s(deadline, asker)) > 0:
                    self._turn.wait(wait)
            except CallError:
                self._turn.notify()  # whoever woke this one meant that somebody starts
                raise
            self._prober = self._prober or asker
            self._running += 1
            self._tokens -= 1

    def _leave(self) -> None:
        with self._turn:
            self._running -= 1
            self._turn.notify()  # one: no more than one may start for it

    def _wait_s(self, deadline: float | None, asker: object) -> float:
        """Seconds until it is worth looking again; 0: a call may start now."""
        self.raise_if_stopped()
        now = time.monotonic()
        if deadline is not None and now > deadline:
            raise CallError("no call could start in time", hint="run again later; the cell stays to be run")
        wait = 0.0
        if self._pause_until > now:
            if self._pause_until - now > self._longest_pause:
                raise CallError(
                    f"the service asks to wait {self._pause_until - now:.0f} s",
                    hint="run again after that; the cell stays to be run",
                )
            wait = self._pause_until - now
        probed = not self._proven and (self._running or self._prober not in (None, asker))
        if probed or self._running >= self._most:
            wait = max(wait, 1.0)
        if self._rate is None:
            self._tokens = 1.0
        else:
            self._tokens = min(self._room, self._tokens + (now - self._filled) * self._rate)
            self._filled = now
            if self._tokens < 1:
                wait = max(wait, (1 - self._tokens) / self._rate)
        return wait if deadline is None or wait <= 0 else min(wait, max(0.001, deadline - now + 0.001))

    def _succeeded(self, pause_s: float) -> None:
        """Let the others go, unless the service asks for a pause."""
        with self._turn:
            first, self._proven = not self._proven, True
            if pause_s:
                self._pause_until = max(self._pause_until, time.monotonic() + pause_s)
            if first:
                self._turn.notify_all()

    def pause(self, seconds: float) -> None:
        """No call of this model starts for so long."""
        with self._turn:
            self._pause_until = max(self._pause_until, time.monotonic() + seconds)

    def stop(self, reason: StopRun) -> None:
        """No call of this model starts any more; the first reason stays."""
        with self._turn:
            self._stopped = self._stopped or reason
            self._turn.notify_all()
            self._sleepers.notify_all()

    def raise_if_stopped(self) -> None:
        """StopRun with the reason, if there is one."""
        if self._stopped is not None:
            reason = self._stopped
            raise type(reason)(reason.what, where=reason.where, hint=reason.hint)

    def sleep(self, seconds: float) -> None:
        """Wait, unless the model is stopped in the meantime (StopRun)."""
        end = time.monotonic() + seconds
        with self._sleepers:
            while True:
                self.raise_if_stopped()
                left = end - time.monotonic()
                if left <= 0:
                    return
                self._sleepers.wait(left)


def starts_per_minute(model: ModelConfig) -> int | None:
    """How many calls of a model may start in a minute; None: as many as it can take, for one that this run serves."""
    unlimited = model.served_by == "embedded" and "requests_per_minute" not in model.model_fields_set
    return None if unlimited else model.requests_per_minute


def rate_limit_for(model: ModelConfig, longest_pause_s: float) -> RateLimit:
    """The rate limit of one model."""
    return RateLimit(starts_per_minute(model), model.in_flight, longest_pause_s=longest_pause_s)
