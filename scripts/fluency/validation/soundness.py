"""What the executions of `make validate` prove: a row a task and shell, and a sentence for each thing that is wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fluency.core.conditions import AS_DESIGNED, BESIDE, Condition
from fluency.core.shells import SHELLS, other_dialect
from fluency.validation.probes import Probe

TITLES = (
    "task",
    "shell",
    "refs",
    "wrong",
    "trivial",
    "hard-coded",
    "dialect",
    *(condition.title for condition in BESIDE),
    "repeats",
    "slowest",
    "verdict",
)
TIMED = ("reference", AS_DESIGNED.name)


@dataclass(frozen=True)
class Finding:
    """One execution's verdict, and how long its command took."""

    probe: Probe
    passed: bool
    why: str
    wall_s: float | None = None


@dataclass
class Report:
    """`sound` is True when nothing was found wrong, also if an arm could not be validated at all."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    not_validated: dict[str, str] = field(default_factory=dict)
    deadlines: list[str] = field(default_factory=list)
    executions: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list, repr=False)

    @property
    def sound(self) -> bool:
        """Whether every proof that could be made holds."""
        return not self.problems

    def text(self) -> str:
        """The table, the problems and one closing sentence."""
        widths = [max(len(row[column]) for row in (TITLES, *self.rows)) for column in range(len(TITLES))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (TITLES, *self.rows)
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        lines += [""] + [f"unsound: {problem}" for problem in self.problems]
        for shell, reason in self.not_validated.items():
            lines.append(f"{SHELLS[shell].title}: not validated, because {reason}")
        lines += [f"deadline: {said}" for said in self.deadlines]
        proven = len(self.rows) - sum(row[-1] != "sound" for row in self.rows)
        verdict = "every proof that could be made holds" if self.sound else f"{len(self.problems)} problems"
        lines.append(
            f"{proven} of {len(self.rows)} rows sound; {verdict}; {self.executions} executions in {self.seconds:.0f} s"
        )
        return "\n".join(lines)


def summarise(report: Report, task: str, shell: str, findings: Sequence[Finding]) -> None:
    """Add the row of one task in one shell and what is wrong with it; `findings` are of that pair alone."""
    designed = [f for f in findings if f.probe.condition == AS_DESIGNED.name]
    problems: list[str] = []

    def of(kind: str, among: Iterable[Finding] = designed) -> list[Finding]:
        return [f for f in among if f.probe.kind == kind]

    references = of("reference")
    first = [f for f in references if f.probe.repeat == 1]
    for f in first:
        if not f.passed:
            problems.append(f"a reference fails in world {f.probe.seed}: {f.probe.command}: {f.why}")
    flaky = _flaky(references)
    problems += [f"a reference gives different verdicts when repeated: {command}" for command in flaky]
    cells = [_share(first)]
    for kind, what, slipped_through in (
        ("wrong", "a wrong command passes in an odd and an even world", passing_everywhere),
        ("trivial", "a trivial command passes", passing_anywhere),
        ("hard-coded", "the answer of another world passes", passing_anywhere),
    ):
        slipped = slipped_through(of(kind))
        problems += [f"{what}: {command}" for command in slipped]
        commands = {f.probe.command for f in of(kind)}
        cells.append(f"{len(commands) - len(slipped)}/{len(commands)} fail")
    dialect = of("other-dialect")
    cells.append(f"{'passes' if dialect and all(f.passed for f in dialect) else 'fails'}" if dialect else "-")
    for condition in BESIDE:
        under = [f for f in findings if f.probe.condition == condition.name]
        cells.append(_under(condition, shell, under, problems))
    cells.append(f"{len(references)} {'differ' if flaky else 'agree'}")
    slow = slowest_s(references)
    cells.append("-" if slow is None else f"{slow:.2f} s")
    report.problems += [f"{task}, {SHELLS[shell].title}: {problem}" for problem in problems]
    report.rows.append((task, shell, *cells, "UNSOUND" if problems else "sound"))


def slowest_s(findings: Iterable[Finding]) -> float | None:
    """The longest a reference took, in seconds, with all the shell's tools; None if none was timed."""
    return max(
        (f.wall_s for f in findings if f.wall_s is not None and (f.probe.kind, f.probe.condition) == TIMED),
        default=None,
    )


def not_validated(report: Report, task: str, shell: str) -> None:
    """Add the row of a task in a shell that the image does not hold."""
    report.rows.append((task, shell, *("-" for _ in TITLES[2:-1]), "not validated"))


def passing_everywhere(findings: Iterable[Finding]) -> list[str]:
    """The commands that pass in some odd world and in some even one: a pair of seeds that they would pass."""
    passed: dict[str, set[int]] = defaultdict(set)
    for f in findings:
        if f.passed:
            passed[f.probe.command].add(f.probe.seed % 2)
    return [command for command, parities in passed.items() if len(parities) == 2]


def passing_anywhere(findings: Iterable[Finding]) -> list[str]:
    """The commands that pass in some world."""
    return sorted({f.probe.command for f in findings if f.passed})


def _under(condition: Condition, shell: str, found: Sequence[Finding], problems: list[str]) -> str:
    """The cell of a condition: the shell's own references must pass, the other dialect's, where it was run, fail."""
    if not found:
        return "-"
    here, other = SHELLS[shell], other_dialect(SHELLS[shell])
    own = [f for f in found if f.probe.kind == "reference"]
    for f in own:
        if not f.passed:
            where = f"{condition.title} in world {f.probe.seed}"
            problems.append(f"a reference fails {where}: {f.probe.command}: {f.why}")
    alien = [f for f in found if f.probe.kind == "other-dialect"]
    slipped = passing_everywhere(alien)
    passes = f"a {other.short_title} reference passes in {here.short_title} {condition.title}"
    problems += [f"{passes}: {command}" for command in slipped]
    return _share(own) + (f", {other.name} {_share(alien)}" if alien else "")


def _share(findings: Sequence[Finding]) -> str:
    return f"{sum(f.passed for f in findings)}/{len(findings)}"


def _flaky(findings: Sequence[Finding]) -> list[str]:
    verdicts: dict[tuple[str, int], set[bool]] = defaultdict(set)
    for f in findings:
        verdicts[f.probe.command, f.probe.seed].add(f.passed)
    return sorted({command for (command, _), seen in verdicts.items() if len(seen) > 1})
