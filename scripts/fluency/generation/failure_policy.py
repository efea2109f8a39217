"""What a failed call means for the other calls of its model and of its run."""

from __future__ import annotations

from typing import NoReturn

from fluency.common.clock import utc_now
from fluency.common.errors import CallError, StopRun
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.generation.context import GenerationContext
from fluency.generation.failure import Failure


class ModelStop(StopRun):
    """A reason that holds for every further call of one model."""


class FailurePolicy:
    """Decides over the failures of one model; safe for threads."""

    def __init__(self, context: GenerationContext) -> None:
        self.context = context
        self._lost_cells = 0

    def succeeded(self) -> None:
        """A call has succeeded."""
        self._lost_cells = 0

    def raise_for(self, failure: Failure, where: str, attempts: int = 1) -> NoReturn:
        """Raise what a failure means after so many attempts, having held back the calls it concerns."""
        context, what, hint = self.context, failure.what, failure.hint
        if failure.retry_after and failure.retry_after > context.retry_policy.deadline_s:
            what = f"{what} (the service asks to wait {failure.retry_after:.0f} s)"
        if failure.scope == "run":
            stop = StopRun(what, where=context.where, hint=hint)
            context.stop_run(stop)
            raise stop
        what = f"{what} (tried {attempts} times)" if attempts > 1 else what
        if failure.scope == "model" or not context.rate_limit.proven:
            raise self.stop_model(what, hint or "check the endpoint, or wait; then run again")
        if failure.scope == "retry":
            self._lost_cells += 1
            if self._lost_cells >= context.retry_policy.lost_cells:
                raise self.stop_model(
                    f"{plural(self._lost_cells, 'cell')} in a row got no answer; the last: {what}", "run again later"
                )
        raise CallError(what, where=where, hint=hint or "the cell stays to be run: run again later")

    def stop_model(self, what: str, hint: str, where: str = "") -> StopRun:
        """Hold back all further calls of the model; the reason, to be raised."""
        stop = ModelStop(what, where=where or self.context.where, hint=hint)
        self.context.rate_limit.stop(stop)
        return stop

    def temperature_refused(self, failure: Failure) -> None:
        """Go on without a temperature if the config says so and no cell has been answered with one; else stop."""
        context = self.context
        if context.temperature_refused:
            return
        if context.model.on_refused_temperature != "provider-default":
            raise self.stop_model(failure.what, failure.hint)
        own = (answer.request for answer in context.store.entries() if answer.request.model_id == context.model.id)
        if any(request.temperature is not None for request in own):
            raise self.stop_model(
                f"{failure.what}; but it answered other cells with one, and the two must not be mixed",
                "put `temperature: provider-default` into the model's entry: all of its cells are then asked so",
            )
        context.store.refuse_temperature(context.model.id, failure.what, utc_now("milliseconds"))
        log_line(f"{context.where}: {failure.what}. All of its cells go without a temperature (provider default).")
