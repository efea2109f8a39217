"""Prove tasks fair in the sandbox: the table and the problems of `make validate`."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tabulate import tabulate  # type: ignore[import-untyped]  # it has no types

from fluency.common.paths import CACHE, TASKS
from fluency.core.shells import AS_DESIGNED, EXTRA_CONDITIONS, SHELLS, Condition, other_dialect
from fluency.core.study import MIN_DEADLINE_S, TIMES_THE_SLOWEST, Limits, min_deadline_s, read_study
from fluency.core.task_world import check_world_pair
from fluency.core.tasks import Task, load_tasks
from fluency.execution.sandbox import Sandbox, open_sandbox
from fluency.validation.probes import (
    Probe,
    Prober,
    ProbeResult,
    first_probes,
    further_probes,
    must_fail_probes,
)

TITLES = (
    *("task", "shell", "refs", "wrong", "trivial", "hard-coded"),
    *(condition.title for condition in EXTRA_CONDITIONS),
    *("repeats", "slowest", "verdict"),
)
REPEATS, FILE_REPEATS = 20, 8
"""Executions of a shell's references in all, to find what differs from run to run.

Processes and the service run beside the command; files do not change while it reads them.
"""
KEPT = CACHE / "validation"
NOT_MEASURED = 3
"""Exit code where no proof failed and some could not be made."""
TIMED = ("reference", AS_DESIGNED.name)


@dataclass
class ValidationReport:
    """`sound` is True if nothing was found wrong, also where a shell could not be validated."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)
    not_validated: dict[str, str] = field(default_factory=dict)
    deadlines: list[str] = field(default_factory=list)
    executions: int = 0
    seconds: float = 0.0
    findings: list[ProbeResult] = field(default_factory=list, repr=False)

    @property
    def sound(self) -> bool:
        return not self.problems

    def text(self) -> str:
        lines = [tabulate(self.rows, TITLES, tablefmt="simple", disable_numparse=True), ""]
        lines += [f"unsound: {problem}" for problem in self.problems]
        lines += [f"not measured: {lost}" for lost in self.not_measured]
        for shell, reason in self.not_validated.items():
            lines.append(f"{SHELLS[shell].title}: not validated, because {reason}")
        lines += [f"deadline: {sentence}" for sentence in self.deadlines]
        proven = len(self.rows) - sum(row[-1] != "sound" for row in self.rows)
        verdict = (
            "every proof that could be made holds"
            if self.sound
            else f"{len(self.problems)} problems"
        )
        if self.not_measured:
            verdict += f"; {len(self.not_measured)} could not be measured: run it again"
        lines.append(
            f"{proven} of {len(self.rows)} rows sound; {verdict}; {self.executions} executions in {self.seconds:.0f} s"
        )
        return "\n".join(lines)


def add_row(
    report: ValidationReport, task: str, shell: str, findings: Sequence[ProbeResult]
) -> None:
    """Add the row of one task in one shell and its problems; `findings` are those of this pair."""
    lost = [f for f in findings if not f.measured]
    findings = [f for f in findings if f.measured]
    designed = [f for f in findings if f.probe.condition == AS_DESIGNED.name]
    problems: list[str] = []

    def of(kind: str, among: Iterable[ProbeResult] = designed) -> list[ProbeResult]:
        return [f for f in among if f.probe.kind == kind]

    references = of("reference")
    first = [f for f in references if f.probe.repeat == 1]
    for f in first:
        if not f.passed:
            problems.append(
                f"a reference fails in world {f.probe.seed}: {f.probe.command}: {f.why}"
            )
    flaky = _flaky(references)
    problems += [
        f"a reference gives different verdicts when repeated: {command}" for command in flaky
    ]
    cells = [_share(first)]
    for kind, what, slipped_through in (
        ("wrong", "a wrong command passes in an odd and an even world", passes_some_seed_pair),
        ("trivial", "a trivial command passes", passing_anywhere),
        ("hard-coded", "the answer of another world passes", passing_anywhere),
    ):
        slipped = slipped_through(of(kind))
        problems += [f"{what}: {command}" for command in slipped]
        commands = {f.probe.command for f in of(kind)}
        cells.append(f"{len(commands) - len(slipped)}/{len(commands)} fail")
    for condition in EXTRA_CONDITIONS:
        under = [f for f in findings if f.probe.condition == condition.name]
        cells.append(_condition_cell(condition, shell, under, problems))
    cells.append(f"{len(references)} {'differ' if flaky else 'agree'}")
    slow = slowest_s(references)
    cells.append("-" if slow is None else f"{slow:.2f} s")
    report.problems += [f"{task}, {SHELLS[shell].title}: {problem}" for problem in problems]
    report.not_measured += [
        f"{task}, {SHELLS[shell].title}, world {f.probe.seed}: {f.probe.command}: {f.why}"
        for f in lost
    ]
    verdict = "UNSOUND" if problems else "not measured" if lost else "sound"
    report.rows.append((task, shell, *cells, verdict))


def slowest_s(findings: Iterable[ProbeResult]) -> float | None:
    """How long the slowest reference took as designed, in seconds; None if none was timed."""
    return max(
        (
            f.wall_s
            for f in findings
            if f.wall_s is not None and (f.probe.kind, f.probe.condition) == TIMED
        ),
        default=None,
    )


def add_unvalidated_row(report: ValidationReport, task: str, shell: str) -> None:
    """Add the row of a task in a shell that the image lacks."""
    report.rows.append((task, shell, *("-" for _ in TITLES[2:-1]), "not validated"))


def passes_some_seed_pair(findings: Iterable[ProbeResult]) -> list[str]:
    """The commands that pass in an odd world and in an even one, and so would pass a pair of seeds."""
    passed: dict[str, set[int]] = defaultdict(set)
    for f in findings:
        if f.passed:
            passed[f.probe.command].add(f.probe.seed % 2)
    return [command for command, parities in passed.items() if len(parities) == 2]


def passing_anywhere(findings: Iterable[ProbeResult]) -> list[str]:
    """The commands that pass in at least one world."""
    return sorted({f.probe.command for f in findings if f.passed})


def _condition_cell(
    condition: Condition, shell: str, found: Sequence[ProbeResult], problems: list[str]
) -> str:
    """The cell of a condition: the shell's own references must pass, the other dialect's must fail where they ran."""
    if not found:
        return "-"
    here, other = SHELLS[shell], other_dialect(SHELLS[shell])
    own = [f for f in found if f.probe.kind == "reference"]
    for f in own:
        if not f.passed:
            where = f"{condition.title} in world {f.probe.seed}"
            problems.append(f"a reference fails {where}: {f.probe.command}: {f.why}")
    foreign = [f for f in found if f.probe.kind == "other-dialect"]
    slipped = passes_some_seed_pair(foreign)
    passes = f"a {other.short_title} reference passes in {here.short_title} {condition.title}"
    problems += [f"{passes}: {command}" for command in slipped]
    return _share(own) + (f", {other.name} {_share(foreign)}" if foreign else "")


def _share(findings: Sequence[ProbeResult]) -> str:
    return f"{sum(f.passed for f in findings)}/{len(findings)}"


def _flaky(findings: Sequence[ProbeResult]) -> list[str]:
    verdicts: dict[tuple[str, int], set[bool]] = defaultdict(set)
    for f in findings:
        verdicts[f.probe.command, f.probe.seed].add(f.passed)
    return sorted({command for (command, _), seen in verdicts.items() if len(seen) > 1})


def validate(
    task_ids: Sequence[str],
    seeds: Sequence[int],
    sandbox: Sandbox,
    *,
    repeats: int | None = None,
    limits: Limits | None = None,
    root: Path = TASKS,
    kept: Path | None = None,
) -> ValidationReport:
    """Prove tasks fair in worlds of odd and even seeds.

    A shell is proven for the tasks that have references for it; one that the image lacks is
    reported as not validated, and an execution that the engine loses as not measured.

    Args:
        task_ids: the tasks; none means all of `root`.
        seeds: of the worlds, odd and even.
        sandbox: where the commands run.
        repeats: how often each shell's references are executed; by default what a task needs.
        limits: of the executions; by default those of a study.
        root: the folder of the tasks.
        kept: a folder of results, from which an interrupted proof goes on.

    Raises:
        UserError: for unknown tasks and bad seeds.
        WorldError: if two worlds have an answer in common.
    """
    started = time.monotonic()
    tasks = load_tasks(list(task_ids) or "all", root)
    check_world_pair(seeds, tasks)
    there = [shell for shell in SHELLS if sandbox.image.shells.get(shell)]
    limits = limits or Limits()
    prober = Prober(sandbox, tasks, limits, kept)
    report = ValidationReport()
    first = [probe for task in tasks for probe in first_probes(task, there, seeds)]
    report.findings += prober.all(first, go_on=True)
    further = [
        probe
        for task in tasks
        for probe in further_probes(
            task, there, seeds, repeats or repeats_of(task), dict(prober.answers[task.id])
        )
    ]
    report.findings += prober.all(further, go_on=True)
    # A command that fails in every world of one parity passes no pair of worlds.
    must_fail = [probe for task in tasks for probe in must_fail_probes(task, there, seeds)]
    here = [probe for probe in must_fail if probe.seed % 2 == seeds[0] % 2]
    found = prober.all(here, go_on=True)
    left = {_command(f.probe) for f in found if f.passed or not f.measured}
    elsewhere = [p for p in must_fail if p.seed % 2 != seeds[0] % 2 and _command(p) in left]
    report.findings += [*found, *prober.all(elsewhere, go_on=True)]
    for shell in SHELLS:
        referenced = [task for task in tasks if task.references.get(shell)]
        if not referenced:
            continue
        if shell not in there:
            report.not_validated[shell] = f"the sandbox image holds no {SHELLS[shell].title}"
        elif (slow := slowest_s(f for f in report.findings if f.probe.shell == shell)) is not None:
            report.deadlines.append(
                deadline_sentence(SHELLS[shell].title, limits.timeout_s[shell], slow)
            )
        for task in referenced:
            if shell in there:
                own = [
                    f for f in report.findings if (f.probe.task, f.probe.shell) == (task.id, shell)
                ]
                add_row(report, task.id, shell, own)
            else:
                add_unvalidated_row(report, task.id, shell)
    report.executions, report.seconds = prober.executions, time.monotonic() - started
    return report


def repeats_of(task: Task) -> int:
    """How often the references of a shell are executed."""
    return REPEATS if task.needs else FILE_REPEATS


def _command(probe: Probe) -> tuple[str, str, str, str]:
    return probe.task, probe.shell, probe.command, probe.condition


def main(task_ids: Sequence[str] = (), seeds: Sequence[int] = ()) -> int:
    """Print the table of `make validate`; 1 if anything is unsound, 3 if not all was measured."""
    study = read_study()
    config = study.sandbox
    load_tasks(list(task_ids) or "all")
    sandbox = open_sandbox(config)
    worlds = list(seeds) or study.seeds
    report = validate(task_ids, worlds, sandbox, limits=config.limits, kept=KEPT)
    print(report.text())
    if not report.sound:
        return 1
    return NOT_MEASURED if report.not_measured else 0


def deadline_sentence(shell: str, deadline_s: float, slowest_s: float) -> str:
    """Whether a study's deadline is long enough for the slowest reference, and by which rule."""
    least = min_deadline_s(slowest_s)
    rule = f"the rule asks for max({MIN_DEADLINE_S:.0f} s, {TIMES_THE_SLOWEST:.0f} x {slowest_s:.2f} s) = {least:.0f} s"
    if deadline_s >= least:
        return f"{shell}: slowest reference {slowest_s:.2f} s; {rule}, and the deadline is {deadline_s:.0f} s"
    return (
        f"{shell}: the deadline of {deadline_s:.0f} s is TOO SHORT for a slowest reference of {slowest_s:.2f} s; {rule}"
        ": set sandbox.limits.timeout_s, or measure again on a machine that is not busy"
    )
