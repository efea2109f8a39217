"""The amount at which asking ends."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fluency.core.study import total_usd
from fluency.generation.failure import Failure, ModelStop


class Budget:
    """Dollars spent on the study, `before` of them by earlier runs; safe for threads."""

    def __init__(self, stop_usd: float, before: float) -> None:
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
