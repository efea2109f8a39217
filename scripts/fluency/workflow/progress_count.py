"""How far a run is: counts of Snakemake's jobs, and the one line they amount to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fluency.core.shells import SHELLS

STAGES = {"generate": "answers", "execute": "executions", "score": "scores"}
"""The rules that are counted, in the order of a cell's way, and what they make."""
CELLS_BEFORE_ESTIMATE = 5
"""Fewer measured cells say nothing about how long the rest takes."""
GAP = " · "


@dataclass
class Job:
    """One job of a counted rule; `started` in the counter's seconds."""

    rule: str
    cell: str
    started: float


@dataclass
class ProgressCount:
    """Counts jobs by stage, and measured cells by model and shell.

    `spending` gives the dollars spent and those at which the run stops; None where nothing is paid.
    """

    clock: Callable[[], float]
    spending: Callable[[], tuple[float, float] | None] = lambda: None
    planned: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    measured: dict[str, Counter[str]] = field(default_factory=dict)
    slowest: tuple[float, Job] | None = None
    _jobs: dict[int, Job] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def start(self, number: int, rule: str, wildcards: dict[str, str]) -> None:
        """A job began."""
        if rule in STAGES:
            self._jobs[number] = Job(rule, "/".join(wildcards.values()), self.clock())
            if rule == "score":
                self.measured.setdefault(wildcards["model"], Counter())[wildcards["shell"]] += 0

    def finish(self, number: int) -> None:
        """A job ended well."""
        job = self._jobs.pop(number, None)
        if job is None:
            return
        self.done[job.rule] += 1
        took = self.clock() - job.started
        if self.slowest is None or took > self.slowest[0]:
            self.slowest = took, job
        if job.rule == "score":
            model, shell = job.cell.split("/")[:2]
            self.measured[model][shell] += 1

    def line(self, width: int | None = None) -> str:
        """The run in one line; of more than `width` characters, whole parts are left out from its end."""
        text = ""
        for part in filter(None, (self._stages(), self._left(), self._money(), *self._models())):
            longer = f"{text}{GAP}{part}" if text else part
            if width is not None and len(longer) > width:
                break
            text = longer
        return text

    def slowest_sentence(self) -> str:
        """Which job took longest; empty if none ended."""
        if self.slowest is None:
            return ""
        took, job = self.slowest
        noun = {"generate": "asking for", "execute": "executing", "score": "scoring"}[job.rule]
        return f"Slowest: {noun} {job.cell}, {took:.1f} s."

    def _stages(self) -> str:
        return ", ".join(
            f"{noun} {self.done[rule]}/{self.planned[rule]}" for rule, noun in STAGES.items() if self.planned[rule]
        )

    def _left(self) -> str:
        """Of the last stage that has anything to do, since its jobs wait for all others."""
        last = next((rule for rule in reversed(STAGES) if self.planned[rule]), "")
        done, left = self.done[last], self.planned[last] - self.done[last]
        if done < CELLS_BEFORE_ESTIMATE or not left:
            return ""
        seconds = (self.clock() - self._began) / done * left
        return f"about {round(seconds / 60)} min left" if seconds >= 90 else f"about {max(1, round(seconds))} s left"

    def _money(self) -> str:
        found = self.spending()
        return f"${found[0]:.2f} of ${found[1]:g}" if found else ""

    def _models(self) -> list[str]:
        return [
            f"{model}: "
            + ", ".join(f"{SHELLS[shell].short_title} {shells[shell]}" for shell in SHELLS if shell in shells)
            for model, shells in sorted(self.measured.items())
        ]
