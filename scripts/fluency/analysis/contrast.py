"""Two shells of one model: the gap, reasons against a verdict, and other ways to measure it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from fluency.analysis import decision_table as plan
from fluency.analysis.cost_per_pass import CostPerPass, cost_per_pass
from fluency.analysis.descriptive import Solved, UnaskedChanges, solved, unasked_changes
from fluency.analysis.gap import GapEstimate, estimate_gap
from fluency.analysis.outcomes import Outcomes, Tally, count_outcomes
from fluency.core.records import FailureClass
from fluency.core.shells import EXTRA_CONDITIONS, SHELLS, Condition

MISSING_PROGRAM: FailureClass = "missing-program"


class Sensitivity(NamedTuple):
    """The gap under another definition of a pass; None if no task was measured so.

    Attributes:
        label: Its name, and an explanation.
    """

    label: str
    estimate: GapEstimate | None

    @property
    def name(self) -> str:
        """As sentences name it; a condition has its title."""
        return self.label.split(":")[0]


class Subset(NamedTuple):
    """The gap over `tasks` tasks: of a set, or of those that lean to no shell named.

    Attributes:
        verdict: The gap, where the decision table may be applied to it.
    """

    names: tuple[str, ...]
    tasks: int
    gap: GapEstimate | None
    verdict: GapEstimate | None


@dataclass(frozen=True)
class Contrast:
    """One model in a baseline and a challenger.

    Attributes:
        shells: Baseline and challenger.
        rows: The model's, of the cells table.
        outcomes: Of these and of every other shell that is shown.
        tallies: Of the study's shells.
        leans: Task -> the shell it leans to, if to one.
        named: The tasks of each named set.
    """

    model: str
    shells: tuple[str, str]
    rows: pd.DataFrame
    outcomes: Outcomes
    tallies: Mapping[str, Tally]
    leans: Mapping[str, str | None]
    named: Mapping[str, Collection[str]]

    @property
    def name(self) -> str:
        """The model, and the challenger where it has several."""
        short = SHELLS[self.shells[1]].short_title
        return f"{self.model}, {short}" if len(self.outcomes.by_shell) > 2 else self.model

    @cached_property
    def pair(self) -> Outcomes:
        """Of the two shells."""
        return self.outcomes.of(*self.shells)

    @cached_property
    def gap(self) -> GapEstimate | None:
        """None if no task was measured in both shells."""
        return estimate_gap(self.pair)

    @cached_property
    def refused(self) -> tuple[str, ...]:
        """Reasons against a verdict by the decision table."""
        return self._refusals(self.pair, self.gap)

    @property
    def verdict(self) -> GapEstimate | None:
        """The gap, where the decision table may be applied to it."""
        return None if self.refused else self.gap

    @property
    def solved(self) -> Solved:
        """pass@k compared."""
        return solved(self.pair)

    @property
    def words(self) -> dict[plan.Band, plan.BandWords]:
        """The decision table in words, for these shells."""
        return plan.band_words(self.shells)

    @property
    def conditions(self) -> list[Condition]:
        """The conditions that one of the shells is run under in addition to the designed one."""
        return [extra for extra in EXTRA_CONDITIONS if _shells_under(extra, self.shells)]

    @cached_property
    def sensitivities(self) -> list[Sensitivity]:
        """The gap under every definition of a pass; the first is the headline's."""
        passes = _passes(self.rows, self.shells)
        return [Sensitivity(label, self._estimate(marks)) for label, marks in passes.items()]

    @cached_property
    def quiet(self) -> GapEstimate | None:
        """The gap in quiet wrong answers per run."""
        return self._estimate(self.rows["quiet"])

    @cached_property
    def status_0(self) -> GapEstimate | None:
        """The gap in wrong answers per run that end with status 0."""
        return self._estimate(self.rows["exit_ok"] & ~self.rows["passed"])

    @property
    def costs(self) -> list[CostPerPass]:
        """What a passed run costs; empty if no task was measured in both shells."""
        return cost_per_pass(self.rows, self.gap.paired) if self.gap else []

    @property
    def unasked(self) -> UnaskedChanges | None:
        """Tasks with an unasked change; None if no task was measured in both shells."""
        return unasked_changes(self.rows, self.gap.paired) if self.gap else None

    @property
    def usd_per_task(self) -> float | None:
        """Mean dollars of a task in both shells, all trials; None if an answer has no price."""
        asked = self.rows[self.rows["shell"].isin(self.shells) & self.rows["outcome"].notna()]
        means = asked.groupby("shell")["cost_usd"].mean()
        if len(means) < 2 or asked["cost_usd"].isna().any():
            return None
        return float(means.sum()) * self.pair.trials

    def _estimate(self, marks: pd.Series) -> GapEstimate | None:
        """The gap with other marks in the place of passes."""
        rows, pair = self.rows.assign(passed=marks), self.pair
        return estimate_gap(count_outcomes(rows, pair.tasks, pair.trials, self.shells))

    @cached_property
    def without(self) -> list[Subset]:
        """Without the tasks that lean to one of the shells, to the other, and to either."""
        named = [shell for shell in self.shells if shell in self.leans.values()]
        groups = [(shell,) for shell in named] + [tuple(named)] * (len(named) > 1)
        kept = {
            group: [t for t, lean in self.leans.items() if lean not in group] for group in groups
        }
        return [self._subset(group, tasks) for group, tasks in kept.items() if tasks]

    @property
    def sets(self) -> list[Subset]:
        """Of each named set that is a part of the study's tasks."""
        return [
            self._subset((name,), tasks)
            for name, tasks in self.named.items()
            if {*tasks} < {*self.leans}
        ]

    def _subset(self, names: tuple[str, ...], tasks: Collection[str]) -> Subset:
        """A part of the tasks; whether enough was measured is asked of the study's tallies."""
        places = [place for place, task in enumerate(self.pair.tasks) if task in tasks]
        kept = self.pair.at(places)
        gap = estimate_gap(kept)
        return Subset(names, len(places), gap, None if self._refusals(kept, gap) else gap)

    def _refusals(self, pair: Outcomes, gap: GapEstimate | None) -> tuple[str, ...]:
        """Reasons against a verdict by the decision table; one at least without a gap."""
        reasons = []
        for shell in self.shells:
            title, tally = SHELLS[shell].title, self.tallies.get(shell)
            if tally is None:
                reasons.append(f"{title} is not part of this study")
            elif tally.cannot_run:
                reasons.append(f"{title} was not measured: {tally.reasons[0][0]}")
            elif (lacking := tally.planned - tally.measured) > plan.MAX_MISSING * tally.planned:
                reasons.append(
                    f"{lacking} of {tally.planned} cells in {title} have no measurement, "
                    f"more than {float(100 * plan.MAX_MISSING):g} %"
                )
        usable = len(gap.paired.tasks) if gap else 0
        if not reasons and usable < plan.MIN_TASKS:
            reasons.append(
                f"{usable} of {len(pair.tasks)} tasks were measured in both shells; "
                f"a verdict needs {plan.MIN_TASKS}"
            )
        return tuple(reasons)


def _shells_under(condition: Condition, shells: Collection[str]) -> list[str]:
    return [shell for shell in shells if condition in SHELLS[shell].conditions]


def _passes(rows: pd.DataFrame, shells: Collection[str]) -> dict[str, pd.Series]:
    """The passes of one model's rows by name and explanation of each definition of a pass.

    An answer without a command is run under no condition; it fails in each, as in the headline.
    """
    passed, lacked = rows["passed"], rows["failure_class"].eq(MISSING_PROGRAM).fillna(False)
    refused = rows["outcome"].eq("refusal").fillna(False)
    delegated = rows["made_of"].eq("delegation").fillna(False)
    passes = {
        "headline: exit 0, structure and content; command read strictly": passed,
        "lenient reading: a command is also taken out of prose": rows["lenient_passed"],
        "structure only: exit 0, the design's literal check": rows["structural_pass"],
        "exit only: exit code 0 with any output": rows["exit_ok"],
        "output only: structure and content with any exit code": rows["content_ok"],
        "refusals left out: they fail in the headline": passed.mask(refused),
        "delegation failed: answers that call another shell": passed.mask(delegated, False),
        "missing programs left out: the sandbox lacks them": passed.mask(lacked),
        "missing programs passed: the sandbox lacks them": passed.mask(
            lacked & passed.notna(), True
        ),
    }
    no_command = rows["command"].isna() & passed.eq(False).fillna(False)
    for condition in EXTRA_CONDITIONS:
        if not (under := _shells_under(condition, shells)):
            continue
        names, others = (
            " and ".join(SHELLS[shell].short_title for shell in shells if (shell in under) == own)
            for own in (True, False)
        )
        label = f"{condition.title}: {condition.setting} for {names}"
        mark = rows[condition.column]
        mark = mark.mask(mark.isna() & no_command, False)
        passes[label + (f" ({others} as designed)" if others else "")] = mark.where(
            rows["shell"].isin(under), passed
        )
    return passes
