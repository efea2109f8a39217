"""What answers have cost, and the amount at which asking ends."""

from __future__ import annotations

import threading

from fluency.common.errors import StopRun
from fluency.core.records import Answer
from fluency.generation.policies import Policy


class Budget:
    """Dollars spent on the study, shared by all threads; `before` of them by earlier runs."""

    def __init__(self, stop_usd: float, before: float = 0.0) -> None:
        self._stop, self._before, self.spent_usd = stop_usd, before, before
        self._change = threading.Lock()

    def add(self, dollars: float) -> None:
        """Count an answer's cost."""
        with self._change:
            self.spent_usd += dollars

    def check(self, ahead: float = 0.0) -> None:
        """StopRun if the budget is spent, or would be with `ahead` dollars more."""
        total = self.spent_usd
        if total >= self._stop or (ahead and total + ahead > self._stop):
            now = f"${total:.4f} of ${self._stop:g} spent"
            before = f", ${self._before:.4f} of it by earlier runs" if self._before else ""
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
    return policy.cost(usage.input_tokens, usage.output_tokens, answer.transport)


def upper_bound_usd(policy: Policy, prompt: str, transport: str = "messages") -> float:
    """The most a call can cost in dollars: two bytes a token in, max_tokens out; 0 where no price is known."""
    return policy.cost(upper_bound_input_tokens(prompt), policy.max_tokens, transport) or 0.0


def upper_bound_input_tokens(prompt: str) -> int:
    """A bound on a prompt's tokens: no tokenizer in use splits English or code finer than two bytes a token."""
    return len(prompt.encode()) // 2 + 32
