"""What answers have cost, and the amount at which asking ends."""

from __future__ import annotations

import threading

from fluency.common.errors import StopRun
from fluency.core.records import Answer
from fluency.generation.policies import Policy, cache_price_factor
from fluency.generation.providers.messages_format import cache_tokens
from fluency.generation.spending import SpendingLog


class Budget:
    """Dollars spent on the study, shared by all threads; `before` of them by earlier runs.

    What other runs spend meanwhile counts too, whatever they spend it on: `log` tells.
    """

    def __init__(self, stop_usd: float, log: SpendingLog, before: float = 0.0) -> None:
        self._stop, self._log, self._before, self.spent_usd = stop_usd, log, before, before
        self._change = threading.Lock()

    def add(self, dollars: float, key: str, *, lost: bool = False) -> None:
        """Count what a call has cost, whether an answer came of it or not."""
        with self._change:
            self.spent_usd += dollars
        self._log.add(dollars, key, lost=lost)

    def check(self, ahead: float = 0.0) -> None:
        """StopRun if the budget is spent, or would be with `ahead` dollars more."""
        others = self._log.by_others()
        total = self.spent_usd + others
        if total >= self._stop or (ahead and total + ahead > self._stop):
            now = f"${total:.4f} of ${self._stop:g} spent"
            before = f", ${self._before:.4f} of it by earlier runs" if self._before else ""
            before += f", ${others:.4f} by other runs at the same time" if others else ""
            ask = f", and what is next may cost ${ahead:.4f}" if ahead else ""
            raise StopRun(
                f"the budget is used up: {now}{before}{ask}",
                where="budget: stop_usd",
                hint="everything bought is kept; raise budget.stop_usd and run again to go on",
            )


def cost_of(policy: Policy, answer: Answer) -> float | None:
    """An answer's price in dollars from the tokens the service counted; null if it counted none or none is priced."""
    usage = answer.usage
    if policy.price is not None and policy.price.input_usd_per_mtok == policy.price.output_usd_per_mtok == 0:
        return 0.0
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = sum(tokens * cache_price_factor(kind) for kind, tokens in cache_tokens(answer.raw).items())
    return policy.cost(usage.input_tokens + cached, usage.output_tokens, answer.transport)


def upper_bound_usd(policy: Policy, prompt: str, transport: str = "messages") -> float:
    """The most a call can cost in dollars: two bytes a token in, max_tokens out; 0 where no price is known."""
    return policy.cost(upper_bound_input_tokens(prompt), policy.max_tokens, transport) or 0.0


def upper_bound_input_tokens(prompt: str) -> int:
    """A bound on a prompt's tokens: no tokenizer in use splits English or code finer than two bytes a token."""
    return len(prompt.encode()) // 2 + 32
