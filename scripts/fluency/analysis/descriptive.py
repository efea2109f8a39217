"""pass@k, times, composition, failures, retries and the order of asking: described, not tested.

pass@k is whether any of k trials passes, with k the study's number of trials: with k trials the
estimator of Chen et al. (2021), arXiv 2107.03374, is one bit a task, and a task with fewer measured
trials has none.

"Wall-clock to first pass" has two readings, T_run and T_first; both are kept apart from t_exec, the
only one of the three that can see the shell.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb, inf, isnan
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from fluency.analysis.decision_table import HORIZON_S
from fluency.analysis.gap import clopper_pearson
from fluency.analysis.outcomes import CELL, Outcomes, cells_in
from fluency.core.records import FailureClass, MadeOf
from fluency.core.shells import EXTRA_CONDITIONS
from fluency.core.study import Cell, Study


class ShareOfTasks(NamedTuple):
    """Tasks with at least one run of a kind, and all tasks looked at."""

    seen: int
    tasks: int

    @property
    def value(self) -> Fraction | None:
        return Fraction(self.seen, self.tasks) if self.tasks else None

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, exact."""
        return clopper_pearson(self.seen, self.tasks)


class Solved(NamedTuple):
    """Where the tasks with every trial measured in two shells were passed at least once."""

    both: int
    challenger_only: int
    baseline_only: int
    neither: int

    @property
    def gap(self) -> Fraction | None:
        """Of pass@k, over those tasks; None without any."""
        apart, tasks = self.challenger_only - self.baseline_only, sum(self)
        return Fraction(apart, tasks) if tasks else None


def _ever(outcomes: Outcomes) -> dict[str, list[bool | None]]:
    """By shell and task whether a trial passed; None unless every trial was measured."""
    return {
        shell: [
            passes > 0 if scored >= outcomes.trials else None
            for passes, scored in zip(*counts, strict=True)
        ]
        for shell, counts in outcomes.by_shell.items()
    }


def pass_k(outcomes: Outcomes) -> dict[str, ShareOfTasks]:
    """pass@k of each shell."""
    return {
        shell: ShareOfTasks(solved.count(True), len(solved) - solved.count(None))
        for shell, solved in _ever(outcomes).items()
    }


def solved(pair: Outcomes) -> Solved:
    """Compare a baseline and a challenger."""
    table = Counter(zip(*_ever(pair).values(), strict=True))
    kinds = ((True, True), (False, True), (True, False), (False, False))
    return Solved(*(table[kind] for kind in kinds))


TRIAL = ("trial", "passed", "t_gen_s", "t_exec_s")
"""Columns of the cells table that a trial's part in the first pass depends on."""
Quartiles = tuple[float, ...]
"""Lower quartile, median and upper quartile of seconds."""


class ShellTimes(NamedTuple):
    """One shell of one model.

    Attributes:
        t_run: Seconds of generation and execution of the passing runs; None without any.
        t_exec: Seconds of the command alone, same runs.
        t_first: Mean seconds to the first pass, at most the horizon; None without such tasks.
        first_tasks: The tasks it is a mean of: it is known for them in every measured shell.
        never_passed: Tasks without a pass.
        tasks: Tasks with a measured run.
    """

    t_run: Quartiles | None
    t_exec: Quartiles | None
    t_first: float | None
    first_tasks: int
    never_passed: int
    tasks: int


def times(rows: pd.DataFrame, trials: int, shells: Iterable[str]) -> dict[str, ShellTimes]:
    """The times of every shell of one model."""
    chosen = rows["status"].eq("measured") & rows["passed"].notna()
    known = rows.loc[chosen, ["shell", "task", *TRIAL]].sort_values("trial")
    known = known.astype({"t_gen_s": float, "t_exec_s": float})
    measured = {shell: known[known["shell"] == shell] for shell in shells}
    firsts: dict[str, dict[str, float | None]] = {}
    for shell, own in measured.items():
        by_task = defaultdict[str, list[Any]](list)
        for task, *trial in own[["task", *TRIAL]].itertuples(False, None):
            by_task[task].append(trial)
        if by_task:
            firsts[shell] = {task: time_to_first_pass(by_task[task], trials) for task in by_task}
    # The tasks with a known time in every measured shell.
    paired = pd.DataFrame(firsts, dtype=float).dropna().clip(upper=HORIZON_S)
    found = {}
    for shell, own in measured.items():
        passed, first = own[own["passed"].eq(True)], [*paired.get(shell, ())]
        tasks = own["task"].nunique()
        found[shell] = ShellTimes(
            t_run=_quartiles(passed["t_gen_s"] + passed["t_exec_s"]),
            t_exec=_quartiles(passed["t_exec_s"]),
            t_first=fmean(first) if first else None,
            first_tasks=len(first),
            never_passed=tasks - passed["task"].nunique(),
            tasks=tasks,
        )
    return found


def time_to_first_pass(task: Sequence[tuple[int, bool, float, float]], trials: int) -> float | None:
    """Seconds to the first pass as if trials ran one after another.

    Infinite if no trial passes before the horizon. None if a trial before the first pass is missing
    or has no time, and the trials before it do not reach the horizon: the sum is not known.

    Args:
        task: Number, whether it passed, and seconds of generation and execution of each measured
            trial, NaN where they are unknown, and where no command ran.
        trials: Planned.
    """
    total = 0.0
    for index, (number, passed, t_gen, t_exec) in enumerate(task, start=1):
        if total >= HORIZON_S:
            return inf
        if number != index or isnan(t_gen):
            return None
        total += t_gen + (0.0 if isnan(t_exec) else t_exec)
        if passed:
            return total
    return inf if len(task) == trials or total >= HORIZON_S else None


def _quartiles(seconds: pd.Series) -> Quartiles | None:
    known = seconds.dropna()
    return tuple(known.quantile([0.25, 0.5, 0.75])) if len(known) else None


class MadeOfLine(NamedTuple):
    """Answers of one shell made of one kind of thing, and how they fared.

    Attributes:
        passes: By column of the cells table, how many passed, and how many are known; none where
            the answers are not classified.
    """

    made_of: str
    answers: int
    passes: dict[str, tuple[int, int]]


def composition(rows: pd.DataFrame, shell: str) -> list[MadeOfLine]:
    """What one model's answers in one shell consist of.

    An answer is classified from its text, so answers in a shell that could not run are classified
    too.
    """
    columns = ["passed", *(condition.column for condition in EXTRA_CONDITIONS)]
    chosen = rows["shell"].eq(shell) & rows["outcome"].notna()
    answered = rows.loc[chosen, ["made_of", *columns]]
    lines = []
    for kind in get_args(MadeOf):
        part = answered[answered["made_of"].eq(kind).fillna(False)]
        passes = {name: (int(part[name].sum()), int(part[name].count())) for name in columns}
        lines.append(MadeOfLine(kind, len(part), passes))
    lines.append(MadeOfLine("not classified", int(answered["made_of"].isna().sum()), {}))
    return [line for line in lines if line.answers]


class FailureLine(NamedTuple):
    """One failure class: failed cells per shell, and the first in design order as the example.

    Its reason and command are hostile text, to be escaped where they are shown.
    """

    failure_class: str
    counts: dict[str, int]
    cell: Cell
    why: str
    command: str


def failure_lines(rows: pd.DataFrame, shells: Iterable[str]) -> list[FailureLine]:
    """Every class that occurs in one model's measured cells, in the order of the closed set."""
    shown = [*CELL, "failure_class", "why", "command"]
    failed = rows.loc[rows["status"].eq("measured") & rows["passed"].eq(False), shown]
    classes, lines = failed["failure_class"].fillna("unclassified"), []
    parts = dict(list(failed.groupby(classes)))
    for failure_class in (*get_args(FailureClass), "unclassified"):
        if failure_class in parts:
            part = parts[failure_class]
            counts = {shell: int((part["shell"] == shell).sum()) for shell in shells}
            example = part.head(1)
            why, command = example[["why", "command"]].fillna("").iloc[0]
            lines.append(FailureLine(failure_class, counts, cells_in(example)[0], why, command))
    return lines


class UnaskedChanges(NamedTuple):
    """Of one model, over the compared tasks.

    Attributes:
        by_shell: The tasks with a run that removed or changed a path unasked.
        unknown: Runs of which it is not known.
        p: Of the exact sign test, over the tasks that one shell alone has.
    """

    by_shell: dict[str, ShareOfTasks]
    unknown: dict[str, int]
    p: float


def unasked_changes(rows: pd.DataFrame, pair: Outcomes) -> UnaskedChanges:
    """The tasks with an unasked change, by shell."""
    known = rows[rows["status"].eq("measured") & rows["task"].isin(pair.tasks)]
    runs = {shell: known[known["shell"].eq(shell)] for shell in pair.by_shell}
    found = [{*own["task"][(own["unasked_changes"] > 0).fillna(False)]} for own in runs.values()]
    one, other = (len(mine - theirs) for mine, theirs in (found, found[::-1]))
    fewer = sum(comb(one + other, count) for count in range(min(one, other) + 1))
    return UnaskedChanges(
        by_shell={
            shell: ShareOfTasks(len(own), len(pair.tasks))
            for shell, own in zip(runs, found, strict=True)
        },
        unknown={shell: int(own["unasked_changes"].isna().sum()) for shell, own in runs.items()},
        p=min(1.0, 2 * fewer / 2 ** (one + other)),
    )


def unasked_runs(rows: pd.DataFrame) -> list[tuple[Cell, int, str]]:
    """Each run that removed or changed paths unasked: its cell, how many, and the command."""
    part = rows[(rows["unasked_changes"] > 0).fillna(False)]
    columns = cells_in(part), part["unasked_changes"], part["command"].fillna("")
    return list(zip(*columns, strict=True))


def retried_cells(rows: pd.DataFrame) -> list[tuple[Cell, int, bool]]:
    """Cells interrupted from outside: their attempts, and whether the last one succeeded."""
    part = rows[rows["attempts"].fillna(1) > 1]
    columns = cells_in(part), part["attempts"].astype(int), part["status"].eq("measured")
    return list(zip(*columns, strict=True))


ENOUGH_FOR_ORDER = 40
"""Answers; with fewer the order says nothing."""
OVERTAKEN_BY = Fraction(1, 10)
"""Share of the answers that may be asked before one that was planned before them."""
DAYS_APART = 0.5
"""Difference of the shells' mean times of asking, in days, that the first page states."""


class AskingOrder(NamedTuple):
    """How the order in which the answers of one model were asked compares with the planned one.

    An answer is late if more than a tenth of all, and twice those in flight, were asked before it
    though they were planned after it. Parallel requests stay far below that; answers that
    were asked again at the end, or added after a look, do not.

    Attributes:
        answers: Those with a time; too few say nothing.
        late: Late answers by shell.
        day: When each shell was asked on average, in days of the clock; those asked at all.
    """

    answers: int
    late: dict[str, int]
    day: dict[str, float]

    @property
    def state(self) -> Literal["kept", "departed", "unknown"]:
        if self.answers < ENOUGH_FOR_ORDER:
            return "unknown"
        return "departed" if any(self.late.values()) else "kept"


def asking_order(rows: pd.DataFrame, model: str, study: Study) -> AskingOrder:
    """The order of one model's answers; answers without a time are left out."""
    times = pd.to_datetime(rows["asked_utc"], format="ISO8601", utc=True, errors="coerce").dropna()
    times = times.sort_values(kind="stable")
    asked = rows.loc[times.index]
    priorities = [-study.priority(cell) for cell in cells_in(asked)]
    planned = np.argsort(np.argsort(priorities, kind="stable"))
    seconds = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy()
    # Of those asked in an earlier second, how many were planned later.
    overtakers = np.array(
        [int((planned[seconds < at] > own).sum()) for own, at in zip(planned, seconds, strict=True)]
    )
    late = overtakers > max(2 * study.model(model).in_flight, OVERTAKEN_BY * len(asked))
    shell_of = asked["shell"].to_numpy()
    asked_in = {shell: shell_of == shell for shell in study.shells}
    return AskingOrder(
        answers=len(asked),
        late={shell: int(late[own].sum()) for shell, own in asked_in.items()},
        day={
            shell: float(seconds[own].mean()) / 86_400
            for shell, own in asked_in.items()
            if own.any()
        },
    )
