"""Made-up populations of tasks, whose spread no study has measured yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fluency.analysis.power import Rates, Spread, beta_rates, draw_rates, spread_of

TRAP_SHARE, TRAP_LOW, TRAP_HIGH = 0.25, 0.10, 0.95


@dataclass(frozen=True)
class Scenario:
    """A population; see `draw_rates`.

    Attributes:
        traps: Whether a quarter of the tasks are traps for one shell.
    """

    words: str
    mean: float
    precision: float
    tie: float
    traps: bool = False

    @property
    def largest_gap(self) -> float:
        """The largest true gap the scenario can hold."""
        return TRAP_SHARE * (TRAP_HIGH - TRAP_LOW) if self.traps else 0.95 - self.mean

    def draw(self, gap: float, size: int, rng: np.random.Generator) -> Rates:
        """True pass rates of `size` tasks in baseline and challenger."""
        if not self.traps:
            return draw_rates(self.mean, gap, size, rng, self.precision, self.tie)
        baseline = beta_rates(rng.standard_normal(size), self.mean, self.precision)
        trap = rng.random(size) < TRAP_SHARE
        for_challenger = rng.random(size) < 0.5 + gap / (2 * self.largest_gap)
        trapped = np.where(for_challenger, TRAP_LOW, TRAP_HIGH)
        other = TRAP_LOW + TRAP_HIGH - trapped
        return np.where(trap, trapped, baseline), np.where(trap, other, baseline)

    def spread(self, trials: int) -> Spread:
        """Its spread by gap."""
        return spread_of(self.draw, self.largest_gap, trials)


SCENARIOS = {
    "A": Scenario("most tasks easy or hard, shells much alike", 0.55, 0.4, 0.9),
    "A2": Scenario("difficulties milder, shells much alike", 0.55, 1.0, 0.9),
    "B": Scenario(
        "most tasks easy or hard, and the shells matter differently from task to task",
        0.55,
        0.4,
        0.6,
    ),
    "C": Scenario(
        "a quarter of the tasks are traps for one of the shells", 0.55, 0.4, 1.0, traps=True
    ),
    "D": Scenario("most tasks easy, shells much alike", 0.78, 0.4, 0.9),
}
