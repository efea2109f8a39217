"""What all calls to one model share. Whoever needs more of another than this is handed it by `ModelSession`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fluency.common.clock import utc_now
from fluency.common.errors import StopRun
from fluency.common.terminal import log_line
from fluency.core.records import Answer, Request
from fluency.core.study import Cell, ModelConfig, Study
from fluency.generation.budget import Budget, cost_of, upper_bound_usd
from fluency.generation.policies import Policy
from fluency.generation.providers.provider import Provider
from fluency.generation.rate_limit import RateLimit
from fluency.generation.request import request_for
from fluency.generation.retry import Retrier, RetryPolicy
from fluency.generation.store import AnswerStore


@dataclass(frozen=True)
class GenerationContext:
    """One model's config, policy and pace, and the run's store, budget and stop switch; safe for threads.

    `rate_limits` has an entry for each model of the run; `url_of` starts the embedded server if it must.
    """

    study: Study
    model: ModelConfig
    policy: Policy
    retry_policy: RetryPolicy
    rate_limits: Mapping[str, RateLimit]
    store: AnswerStore
    budget: Budget
    environ: Mapping[str, str]
    url_of: Callable[[ModelConfig], str | None]
    _said: set[str] = field(default_factory=set)

    @property
    def where(self) -> str:
        """The model's place in the configuration, for errors."""
        return f"models: {self.model.alias}"

    @property
    def rate_limit(self) -> RateLimit:
        """The model's own."""
        return self.rate_limits[self.model.alias]

    @property
    def temperature_refused(self) -> bool:
        """Whether this model's cells go without the temperature it was to have."""
        return (
            self.policy.temperature_sent is not None
            and self.model.on_refused_temperature == "provider-default"
            and self.store.temperature_refused(self.model.id)
        )

    def request(self, cell: Cell, prompt: str) -> Request:
        """What a cell asks as things stand."""
        return request_for(self.study, cell, prompt, refused=self.temperature_refused)

    def retrier(self) -> Retrier:
        """The attempts at one call."""
        return Retrier(self.retry_policy, self.rate_limit.sleep, self.rate_limit.pause)

    def stop_run(self, reason: StopRun) -> None:
        """Hold back every further call of the run."""
        for limit in self.rate_limits.values():
            limit.stop(reason)

    def note(self, provider: Provider) -> dict[str, object]:
        """What every answer says about where it came from."""
        server = "embedded" if self.model.served_by == "embedded" else provider.server
        return {"received_utc": utc_now("milliseconds"), "server": server, "client": provider.name}

    def count_lost(self, key: str, request: Request, transport: str = "messages", *, for_good: bool = True) -> None:
        """Count a reply of no use (not `for_good`: for now) that may have been billed, as the dearest it can be."""
        self.budget.add(upper_bound_usd(self.policy, request.prompt, transport), key, lost=for_good)

    def count(self, answer: Answer) -> None:
        """Count an answer's cost."""
        self.budget.add(self.dollars(answer), answer.request_key)

    def dollars(self, answer: Answer) -> float:
        """An answer's cost, the most it can be where the service did not say."""
        cost = cost_of(self.policy, answer)
        return upper_bound_usd(self.policy, answer.request.prompt, answer.transport) if cost is None else cost

    def look_at(self, answer: Answer) -> None:
        """Say it once if another model answered than was asked."""
        asked, echoed = self.model.id, answer.model_echoed
        same = self.model.served_by == "embedded" or echoed is None or echoed.startswith(asked)
        if not same and echoed not in self._said:
            self._said.add(str(echoed))
            log_line(f"{self.where}: asked for {asked}, answered by {echoed} (recorded with each answer)")
