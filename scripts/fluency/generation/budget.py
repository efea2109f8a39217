"""What answers have cost, and the amount at which asking ends."""

from __future__ import annotations

import threading

from fluency.common.errors import StopRun
from fluency.core.records import Answer
from fluency.generation.batches_out import BatchesOut
from fluency.generation.policies import Policy, cache_price_factor, geo_price_factor
from fluency.generation.providers.messages_format import cache_tokens, inference_geo
from fluency.generation.spending import SpendingLog


class WaitsForBatches(StopRun):
    """What is spent leaves room, but not beside what batches that are out may still cost."""


class Budget:
    """Dollars spent on the study, shared by all threads; `before` of them by earlier runs.

    What other runs spend meanwhile counts too, whatever they spend it on: `log` tells. So does the most that batches
    of the store can cost while they are `out`.
    """

    def __init__(self, stop_usd: float, log: SpendingLog, out: BatchesOut, before: float = 0.0) -> None:
        self._stop, self._log, self._out, self._before, self.spent_usd = stop_usd, log, out, before, before
        self._change = threading.Lock()

    def add(self, dollars: float, key: str, *, lost: bool = False) -> bool:
        """Count what a call has cost, whether an answer came of it or not; False if only this run will know."""
        with self._change:
            self.spent_usd += dollars
        return self._log.add(dollars, key, lost=lost)

    def check(self, ahead: float = 0.0) -> None:
        """StopRun if the budget is spent, or would be with `ahead` dollars more.

        WaitsForBatches if that is so only beside batches that are out.
        """
        others = self._log.by_others()
        total = self.spent_usd + others
        if self._is_full(total, ahead):
            now = f"${total:.4f} of ${self._stop:g} spent"
            before = f", ${self._before:.4f} of it by earlier runs" if self._before else ""
            before += f", ${others:.4f} by other runs at the same time" if others else ""
            ask = f", and what is next may cost ${ahead:.4f}" if ahead else ""
            raise StopRun(
                f"the budget is used up: {now}{before}{ask}",
                where="budget: stop_usd",
                hint="everything bought is kept; raise budget.stop_usd and run again to go on",
            )
        if not self._is_full(total + self._out.usd(), ahead):
            return
        out = self._out.open_usd()
        if self._is_full(total + out, ahead):
            ask = f", and what is next may cost ${ahead:.4f}" if ahead else ""
            raise WaitsForBatches(
                f"the budget is spoken for: ${total:.4f} of ${self._stop:g} spent, and batches that are out may cost "
                f"${out:.4f}{ask}",
                where=f"budget: stop_usd; {self._out.folder}",
                hint="run again when they are collected, which mostly costs much less; or raise budget.stop_usd",
            )

    def _is_full(self, dollars: float, ahead: float) -> bool:
        return dollars >= self._stop or (ahead > 0 and dollars + ahead > self._stop)


def cost_of(policy: Policy, answer: Answer) -> float | None:
    """An answer's price in dollars from the tokens the service counted; null if it counted none or none is priced."""
    usage = answer.usage
    if policy.price is not None and policy.price.input_usd_per_mtok == policy.price.output_usd_per_mtok == 0:
        return 0.0
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = sum(tokens * cache_price_factor(kind) for kind, tokens in cache_tokens(answer.raw).items())
    cost = policy.cost(usage.input_tokens + cached, usage.output_tokens, answer.transport)
    return None if cost is None else cost * geo_price_factor(inference_geo(answer.raw))


def upper_bound_usd(policy: Policy, prompt: str, transport: str = "messages") -> float:
    """The most a call can cost in dollars: two bytes a token in, max_tokens out; 0 where no price is known."""
    cost = policy.cost(upper_bound_input_tokens(prompt), policy.max_tokens, transport) or 0.0
    return cost * geo_price_factor(policy.extra_body.get("inference_geo"))


def upper_bound_input_tokens(prompt: str) -> int:
    """A bound on a prompt's tokens: no tokenizer in use splits English or code finer than two bytes a token."""
    return len(prompt.encode()) // 2 + 32
