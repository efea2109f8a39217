"""What a failed call means for the other calls of its model and of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fluency.common.clock import utc_now
from fluency.common.errors import CallError, StopRun
from fluency.generation.reply import Failure

if TYPE_CHECKING:
    from fluency.generation.model_session import Lane


class ModelStop(StopRun):
    """A reason that holds for every further call of one model."""


class Setbacks:
    """The failures of one model; safe for threads."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self._lost = 0

    def over(self) -> None:
        """A call has succeeded."""
        self._lost = 0

    def met(self, failure: Failure, where: str, tried: int = 1, *, sampled: bool = False) -> None:
        """Raise what a failure means, after holding back the calls it concerns; returns if a new request may help.

        `sampled`: a temperature was sent.
        """
        lane, what, hint = self.lane, failure.what, failure.hint
        if failure.retry_after and failure.retry_after > lane.patience.deadline_s:
            what = f"{what} (the service asks to wait {failure.retry_after:.0f} s)"
        if failure.scope == "temperature" and sampled:
            return self._temperature_refused(what, hint)
        if failure.scope == "run":
            stop = StopRun(what, where=lane.where, hint=hint)
            lane.owner.stop(stop)
            raise stop
        what = f"{what} (tried {tried} times)" if tried > 1 else what
        if failure.scope == "model" or not lane.limiter.proven:
            raise self.stop(what, hint or "check the endpoint, or wait; then run again")
        if failure.scope == "retry":
            self._lost += 1
            if self._lost >= lane.patience.lost_cells:
                raise self.stop(f"{self._lost} cells in a row got no answer; the last: {what}", "run again later")
        raise CallError(what, where=where, hint=hint or "the cell stays to be run: run again later")

    def stop(self, what: str, hint: str, where: str = "") -> StopRun:
        """Hold back all further calls of the model; the reason, to be raised."""
        stop = ModelStop(what, where=where or self.lane.where, hint=hint)
        self.lane.limiter.stop(stop)
        return stop

    def _temperature_refused(self, what: str, hint: str) -> None:
        """Go on without a temperature if the config says so and no cell has been answered with one; else stop."""
        lane = self.lane
        if lane.refused:
            return
        if lane.model.on_refused_temperature != "provider-default":
            raise self.stop(what, hint)
        own = (answer.request for answer in lane.store.entries() if answer.request.model_id == lane.model.id)
        if any(request.temperature is not None for request in own):
            raise self.stop(
                f"{what}; but it answered other cells with one, and the two must not be mixed",
                "put `temperature: provider-default` into the model's entry: all of its cells are then asked so",
            )
        lane.store.refuse_temperature(lane.model.id, what, utc_now("milliseconds"))
        lane.owner.say(f"{lane.where}: {what}. All of its cells go without a temperature (provider default).")
