"""Prove tasks fair in the sandbox: the table and the problems of `make validate`."""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tabulate import tabulate  # type: ignore[import-untyped]  # it has no types

from fluency.common.paths import CACHE
from fluency.common.words import plural
from fluency.core.shells import AS_DESIGNED, EXTRA_CONDITIONS, SHELLS, Condition
from fluency.core.study import MIN_DEADLINE_S, TIMES_THE_SLOWEST, Limits, min_deadline_s, read_study
from fluency.core.task_world import check_world_pair
from fluency.core.tasks import ALL, load_tasks
from fluency.execution.sandbox import Sandbox, open_sandbox
from fluency.validation.probes import (
    Probe,
    Prober,
    ProbeResult,
    every_world_probes,
    must_fail_probes,
)

TITLES = (
    *("task", "shell", "refs", "wrong", "trivial", "hard-coded"),
    *(condition.title for condition in EXTRA_CONDITIONS),
    *("repeats", "slowest", "verdict"),
)
REPEATS, FILE_REPEATS = 20, 8
"""Executions of a shell's references in all, to find what differs from run to run.

Processes and the service run next to the command; files do not change while it reads them.
"""
KEPT = CACHE / "validation"
NOT_MEASURED = 3
"""Exit code where no proof failed and some could not be made."""
TIMED = ("reference", AS_DESIGNED.name)
ASKS_EXECUTABLE = re.compile(r"(?<![\w-])-executable\b|(?:\[|test) (?:! )?-x\s")


@dataclass
class ValidationReport:
    """What was found; a shell that could not be validated is a note, and no problem."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """By shell: whether the deadline is long enough, or why it was not validated."""
    executions: int = 0
    seconds: float = 0.0

    def text(self) -> str:
        lines = [tabulate(self.rows, TITLES, tablefmt="simple", disable_numparse=True), ""]
        lines += [f"unsound: {problem}" for problem in self.problems]
        lines += [f"not measured: {lost}" for lost in self.not_measured]
        proven = sum(row[-1] == "sound" for row in self.rows)
        said = f"{proven} of {len(self.rows)} rows sound; {plural(len(self.problems), 'problem')}"
        if self.not_measured:
            said += f"; {len(self.not_measured)} could not be measured: run it again"
        ran = f"{self.executions} executions in {self.seconds:.0f} s"
        return "\n".join([*lines, *self.notes, f"{said}; {ran}"])


def add_row(
    report: ValidationReport, task: str, shell: str, findings: Sequence[ProbeResult]
) -> None:
    """Add the row of one task in one shell and its problems; `findings` are this pair's."""
    lost = [f for f in findings if not f.result]
    findings = [f for f in findings if f.result]
    designed = [f for f in findings if f.probe.condition == AS_DESIGNED.name]

    def of(kind: str) -> list[ProbeResult]:
        return [f for f in designed if f.probe.kind == kind]

    references = of("reference")
    first = [f for f in references if f.probe.repeat == 1]
    problems = _failures(first, "a reference fails in world")
    flaky = _flaky(references)
    problems += [f"a reference is judged differently when repeated: {one}" for one in flaky]
    cells = [_share(first)]
    for kind, what, slipped_through in (
        ("wrong", "a wrong command passes in an odd and an even world", passes_some_seed_pair),
        ("trivial", "a trivial command passes", passing_anywhere),
        ("hard-coded", "the answer of another world passes", passing_anywhere),
    ):
        slipped = slipped_through(of(kind))
        problems += [f"{what}: {command}" for command in slipped]
        tried = len({f.probe.command for f in of(kind)})
        cells.append(f"{tried - len(slipped)}/{tried} fail")
    for condition in EXTRA_CONDITIONS:
        under = [f for f in findings if f.probe.condition == condition.name]
        cells.append(_condition_cell(condition, shell, under, problems))
    cells.append(f"{len(references)} {'differ' if flaky else 'agree'}")
    cells.append("-" if (slow := slowest_s(references)) is None else f"{slow:.2f} s")
    about = f"{task}, {SHELLS[shell].title}"
    report.problems += [f"{about}: {problem}" for problem in problems]
    report.not_measured += [
        f"{about}, world {f.probe.seed}: {f.probe.command}: {f.why}" for f in lost
    ]
    state = "UNSOUND" if problems else "not measured" if lost else "sound"
    report.rows.append((task, shell, *cells, state))


def slowest_s(findings: Iterable[ProbeResult]) -> float | None:
    """How long the slowest reference took as designed, in seconds; None if none was timed."""
    timed = (f.result for f in findings if (f.probe.kind, f.probe.condition) == TIMED)
    return max((result.wall_s for result in timed if result), default=None)


def passes_some_seed_pair(findings: Iterable[ProbeResult]) -> list[str]:
    """The commands that pass in an odd world and in an even one, with these worlds."""
    passed: dict[str, list[int]] = {}
    for f in findings:
        if f.passed:
            passed.setdefault(f.probe.command, []).append(f.probe.seed)
    pairs = {command: seeds for command, seeds in passed.items() if len({s % 2 for s in seeds}) > 1}
    return [f"{command} (worlds {', '.join(map(str, s))})" for command, s in pairs.items()]


def passing_anywhere(findings: Iterable[ProbeResult]) -> list[str]:
    """The commands that pass in at least one world."""
    return sorted({f.probe.command for f in findings if f.passed})


def _condition_cell(
    condition: Condition, shell: str, found: Sequence[ProbeResult], problems: list[str]
) -> str:
    """The cell of a condition, with its problems.

    The shell's own references must pass; the other dialect's must fail where they ran.
    """
    if not found:
        return "-"
    here, other = SHELLS[shell], SHELLS[shell].other_dialect
    own = [f for f in found if f.probe.kind == "reference"]
    problems += _failures(own, f"a reference fails {condition.title} in world")
    foreign = [f for f in found if f.probe.kind == "other-dialect"]
    slipped = passes_some_seed_pair(foreign)
    passes = f"a {other.short_title} reference passes in {here.short_title} {condition.title}"
    problems += [f"{passes}: {command}" for command in slipped]
    return _share(own) + (f", {other.name} {_share(foreign)}" if foreign else "")


def _failures(findings: Iterable[ProbeResult], what: str) -> list[str]:
    failed = (f for f in findings if not f.passed)
    return [f"{what} {f.probe.seed}: {f.probe.command}: {f.why}" for f in failed]


def _share(findings: Sequence[ProbeResult]) -> str:
    return f"{sum(f.passed for f in findings)}/{len(findings)}"


def _flaky(findings: Sequence[ProbeResult]) -> list[str]:
    seen = {(f.probe.command, f.probe.seed, f.passed) for f in findings}
    return sorted({command for command, seed, ok in seen if (command, seed, not ok) in seen})


def validate(
    task_ids: Sequence[str],
    seeds: Sequence[int],
    sandbox: Sandbox,
    limits: Limits,
    *,
    only_wrong: bool = False,
    kept: Path | None = None,
) -> ValidationReport:
    """Prove tasks fair in worlds of odd and even seeds.

    A shell is proven for the tasks that have references for it; one that the image lacks is
    reported as not validated, and an execution that the engine loses as not measured.

    Args:
        task_ids: the tasks; none means all.
        seeds: of the worlds, odd and even.
        sandbox: where the commands run.
        limits: of the executions.
        only_wrong: execute the wrong commands alone, in the even worlds those that pass in an odd
            one: a search over many worlds.
        kept: a folder of results, from which an interrupted proof goes on.

    Raises:
        UserError: for unknown tasks and bad seeds.
        WorldError: if two worlds have an answer in common.
    """
    started = time.monotonic()
    tasks = load_tasks(list(task_ids) or ALL)
    check_world_pair(seeds, tasks)
    there = [shell for shell in SHELLS if not sandbox.why_missing(shell)]
    prober = Prober(sandbox, tasks, limits, kept)
    report = ValidationReport()
    probes: list[Probe] = []
    for task in tasks:
        commands = [command for those in task.references.values() for command in those]
        if any(map(ASKS_EXECUTABLE.search, commands)):
            problem = "nothing in the working folder is executable (noexec): ask for mode bits"
            report.problems.append(f"{task.id}: {problem}, as `find -perm` does")
        often = REPEATS if task.needs else FILE_REPEATS
        probes += () if only_wrong else every_world_probes(task, there, seeds, often)
    findings = prober.all(probes, go_on=True)
    must_fail = [
        probe
        for task in tasks
        for probe in must_fail_probes(task, there, seeds)
        if probe.kind == "wrong" or not only_wrong
    ]
    for parity in (1, 0):
        found = prober.all([p for p in must_fail if p.seed % 2 == parity], go_on=True)
        findings += found
        # A command that fails in every world of one parity passes no pair of worlds.
        slipped = {_command(f.probe) for f in found if f.passed or not f.result}
        must_fail = [probe for probe in must_fail if _command(probe) in slipped]
    for shell in SHELLS:
        referenced = [task for task in tasks if task.references.get(shell)]
        if not referenced:
            continue
        title = SHELLS[shell].title
        if shell not in there:
            report.notes.append(f"{title}: not validated, because the sandbox image holds none")
            blank = ("-",) * len(TITLES[2:-1])
            report.rows += [(task.id, shell, *blank, "not validated") for task in referenced]
            continue
        found = [f for f in findings if f.probe.shell == shell]
        if (slow := slowest_s(found)) is not None:
            report.notes.append(deadline_sentence(title, limits.deadline_s(shell), slow))
        for task in referenced:
            add_row(report, task.id, shell, [f for f in found if f.probe.task == task.id])
    report.executions, report.seconds = prober.executions, time.monotonic() - started
    return report


def _command(probe: Probe) -> tuple[str, str, str, str]:
    return probe.task, probe.shell, probe.command, probe.condition


def main(task_ids: Sequence[str], seeds: Sequence[int], only_wrong: bool) -> int:
    """Print the table of `make validate`; 1 if anything is unsound, 3 if not all was measured."""
    study = read_study()
    load_tasks(list(task_ids) or ALL)  # an unknown task, before the image is built
    sandbox, limits = open_sandbox(study.sandbox), study.sandbox.limits
    seeds = list(seeds) or study.seeds
    report = validate(task_ids, seeds, sandbox, limits, only_wrong=only_wrong, kept=KEPT)
    print(report.text())
    if report.problems:
        return 1
    return NOT_MEASURED if report.not_measured else 0


def deadline_sentence(shell: str, deadline_s: float, slowest_s: float) -> str:
    """Whether a study's deadline is long enough for the slowest reference, and by which rule."""
    least = min_deadline_s(slowest_s)
    rule = f"max({MIN_DEADLINE_S:.0f} s, {TIMES_THE_SLOWEST:.0f} x {slowest_s:.2f} s)"
    said = f"{shell}: slowest reference {slowest_s:.2f} s; the rule asks for {rule} = {least:.0f} s"
    said += f", and the deadline is {deadline_s:.0f} s"
    if deadline_s >= least:
        return said
    return (
        f"{said}, which is TOO SHORT: set sandbox.limits.timeout_s; if the machine was busy, "
        "remove .cache/validation, which keeps the times, and run again"
    )
