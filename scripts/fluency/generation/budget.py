"""What answers cost, and the amount at which asking ends."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fluency.core.records import Answer
from fluency.core.study import total_usd
from fluency.generation.failure import Failure, ModelStop
from fluency.generation.policies import Policy
from fluency.generation.reply import dict_or_empty

CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""Counts of the Messages API: tokens of the prompt that the service's cache took or gave."""


class Budget:
    """Dollars spent on the study, `before` of them by earlier runs; safe for threads."""

    def __init__(self, stop_usd: float, before: float = 0.0) -> None:
        self._stop = stop_usd
        self._change = threading.Condition()
        self.spent_usd = before
        self.under_way_usd = 0.0
        """The most that the running calls can cost."""

    def add(self, dollars: float) -> None:
        """Count the cost of a call, with an answer or without."""
        with self._change:
            self.spent_usd = total_usd((self.spent_usd, dollars))

    @contextmanager
    def call(self, most_usd: float) -> Iterator[None]:
        """A call in the block, which costs `most_usd` at most; ModelStop if the budget is spent.

        It waits while the running calls may spend the rest, so that one call at most passes the
        stop. That much is counted for a failure that may have been billed.
        """
        with self._change:
            self._change.wait_for(
                lambda: (
                    self.spent_usd >= self._stop
                    or total_usd((self.spent_usd, self.under_way_usd)) < self._stop
                )
            )
            if self.spent_usd >= self._stop:
                spent = f"${self.spent_usd:.4f} of ${self._stop:g} spent, earlier runs included"
                raise ModelStop(
                    f"the budget is used up: {spent}",
                    where="budget: stop_usd",
                    hint="everything bought is kept; raise budget.stop_usd and run again to go on",
                )
            self.under_way_usd = total_usd((self.under_way_usd, most_usd))
        try:
            yield
        except Failure as failure:
            self.add(most_usd * failure.billed)
            raise
        finally:
            with self._change:
                self.under_way_usd = total_usd((self.under_way_usd, -most_usd))
                self._change.notify_all()


def cost_of(policy: Policy, answer: Answer) -> float | None:
    """An answer's cost in dollars: as the service states it, else by the tokens it counted.

    OpenRouter states it, unless a user's own key for a provider pays. None without a price, without
    a count (0 means missing: every request and every text has tokens), and where a cache was used,
    whose tokens have other prices.
    """
    usage, stated = answer.usage, dict_or_empty(answer.raw.get("usage"))
    cost = stated.get("cost")
    if isinstance(cost, int | float) and cost > 0 and stated.get("is_byok") is not True:
        return cost
    if policy.price and policy.price.is_free:
        return 0.0
    if usage.output_tokens is None or (answer.text and not usage.output_tokens):
        return None
    if not usage.input_tokens or any(map(stated.get, CACHED)):
        return None
    return policy.cost(usage.input_tokens, usage.output_tokens)


def counted_usd(policy: Policy, answer: Answer) -> float:
    """What an answer counts for the budget in dollars: its cost, else the most it can cost."""
    cost = cost_of(policy, answer)
    return upper_bound_usd(policy, answer.request.text) if cost is None else cost


def upper_bound_usd(policy: Policy, text: str, more: int = 0) -> float:
    """The most a call can cost in dollars, with max_tokens out; 0 where no price is known.

    more: tokens that it reads besides the text.
    """
    # No tokenizer in use has less than two bytes a token.
    return policy.cost(len(text.encode()) // 2 + 32 + more, policy.max_tokens) or 0.0
