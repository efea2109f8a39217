"""How often and how long a call is tried: attempts, waits and the outer deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from fluency.core.study import ModelConfig
from fluency.generation.failure import Failure

Result = TypeVar("Result")


@dataclass(frozen=True)
class RetryPolicy:
    """Seconds of one attempt and of all attempts of a cell; waits double from `first_wait_s` to `longest_wait_s`.

    `unreadable_attempts` holds for replies that came, and may have been billed, but are of no use.
    After `lost_cells` cells in a row without an answer the model is not asked any more in this run. An answer that no
    disk takes is kept in memory for `unwritten_s` seconds.
    """

    attempt_s: float = 120.0
    deadline_s: float = 600.0
    attempts: int = 8
    unreadable_attempts: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    lost_cells: int = 5
    batch_poll_s: float = 20.0
    unwritten_s: float = 1800.0


SLOW = RetryPolicy(attempt_s=600.0, deadline_s=1800.0)
"""For servers on the user's own machine, where one answer may take minutes."""


def retry_policy_for(model: ModelConfig) -> RetryPolicy:
    """The policy of one model."""
    return SLOW if model.served_by == "embedded" or not model.key_required else RetryPolicy()


class Retrier:
    """The attempts at one call. Not shared between threads.

    `sleep` waits between attempts and `slow_down(seconds)` is told when the service is overloaded. `deadline`
    (monotonic) runs from the first call of `left_s`, so that queueing for a first slot does not use it up.
    """

    def __init__(self, policy: RetryPolicy, sleep: Callable[[float], None], slow_down: Callable[[float], None]) -> None:
        self.policy, self._sleep, self._slow_down = policy, sleep, slow_down
        self.deadline: float | None = None
        self.attempt = 1

    def run(self, attempt: Callable[[], Result]) -> Result:
        """The first result; the last Failure when the policy allows no more, any other exception at once."""
        while True:
            try:
                return attempt()
            except Failure as failure:
                wait = wait_s(self.policy, failure, self.attempt)
                if failure.scope != "retry" or not self._worth_another(failure, wait):
                    raise
            self._sleep(wait)
            self.attempt += 1

    def left_s(self) -> float:
        """Seconds one attempt may take now."""
        now = time.monotonic()
        self.deadline = self.deadline or now + self.policy.deadline_s
        return min(self.policy.attempt_s, max(1.0, self.deadline - now))

    def _worth_another(self, failure: Failure, wait: float) -> bool:
        if failure.slow_down:
            self._slow_down(wait)
        most = self.policy.unreadable_attempts if failure.unreadable else self.policy.attempts
        too_late = self.deadline is not None and time.monotonic() + wait > self.deadline
        return self.attempt < most and not too_late


def wait_s(policy: RetryPolicy, failure: Failure, attempt: int) -> float:
    """Seconds until the next attempt: doubling, at least what the service asks for, and up to a quarter more."""
    wait = min(policy.first_wait_s * 2.0 ** (attempt - 1), policy.longest_wait_s)
    return max(wait, failure.retry_after or 0.0) * (1 + random.random() / 4)
