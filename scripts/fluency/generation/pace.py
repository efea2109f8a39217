"""How fast one model is asked: starts a minute, calls in flight, pauses, and a full stop."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fluency.common.errors import CallError, StopRun


class Pace:
    """Shared by all threads that ask one model.

    At most `in_flight` calls at a time, and starts spread over `per_minute`: one second's worth of
    them may come at once, or half the time between two be made up, so that late starts do not lower
    the rate. A pause longer than `longest_pause_s` is not waited for: calls fail until it is over.
    """

    def __init__(self, per_minute: float | None, in_flight: int, *, longest_pause_s: float) -> None:
        self._interval = 60 / per_minute if per_minute else 0.0
        self._burst_s = max(self._interval / 2, 1.0 - self._interval)
        self._most, self._running = in_flight, 0
        self._next = self._pause_until = 0.0
        self._waiting: list[int] = []
        self._longest_pause = longest_pause_s
        self._stopped: StopRun | None = None
        self._change = threading.Condition()

    @contextmanager
    def slot(self, priority: int = 0) -> Iterator[None]:
        """Wait until the block's call may start; of those that wait the largest `priority` starts.

        StopRun if stopped, CallError for a long pause.
        """
        with self._change:
            self._waiting.append(priority)
            try:
                while (wait := self._wait_s()) > 0 or priority < max(self._waiting):
                    self._change.wait(wait if wait > 0 else 1.0)
            finally:
                self._waiting.remove(priority)
                self._change.notify_all()
            self._running += 1
            self._next = max(time.monotonic(), self._next) + self._interval
        try:
            yield
        finally:
            with self._change:
                self._running -= 1
                self._change.notify_all()

    def _wait_s(self) -> float:
        """Seconds until the next check; 0 or less: a call may start now."""
        self.raise_if_stopped()
        now = time.monotonic()
        if self._pause_until - now > self._longest_pause:
            what = f"the service asks to wait {self._pause_until - now:.0f} s"
            raise CallError(what, hint="run again after that")
        wait = max(self._pause_until, self._next - self._burst_s) - now
        return max(wait, 1.0) if self._running >= self._most else wait

    def pause(self, seconds: float) -> None:
        """Start no call of this model for these seconds."""
        with self._change:
            self._pause_until = max(self._pause_until, time.monotonic() + seconds)

    def stop(self, reason: StopRun) -> None:
        """Start no further call of this model; the first reason stays."""
        with self._change:
            self._stopped = self._stopped or reason
            self._change.notify_all()

    def raise_if_stopped(self) -> None:
        """StopRun with the reason, if there is one."""
        if self._stopped is not None:
            raise self._stopped

    def sleep(self, seconds: float) -> None:
        """Wait; StopRun if the model is stopped while waiting."""
        with self._change:
            self._change.wait_for(lambda: self._stopped, seconds)
            self.raise_if_stopped()
