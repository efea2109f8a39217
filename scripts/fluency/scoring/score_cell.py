"""The third stage: judge a cell's runs. The same records and code give the same score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fluency import __version__
from fluency.common.errors import UserError
from fluency.core.grammar import condition_applies, parse
from fluency.core.records import Composition, Execution, Generation, Reading, Run, Score, WorldScore
from fluency.core.shells import (
    AS_DESIGNED,
    EXTRA_CONDITIONS,
    SHELLS,
    Condition,
    ConditionName,
    Shell,
)
from fluency.core.tasks import Task
from fluency.scoring.commands import composition_of, is_syntax_error
from fluency.scoring.failure_class import HeadlineRun, classify, side_effects
from fluency.scoring.verdict import ExecutionVerdict, judge
from fluency.world import World


def score_cell(
    task: Task,
    generation: Generation,
    execution: Execution,
    world_for: Callable[[Task, int], World],
    *,
    code_sha256: str,
    seeds: Sequence[int] | None = None,
    conditions: Sequence[ConditionName] | None = None,
) -> Score:
    """The score of a cell from its records; `code_sha256` is of the code that scores, for the record.

    `seeds` and `conditions` are the study's. With them, every world must have been run, and an answer that was not run
    under a condition, because it has no command or calls nothing that the condition changes, counts as designed there
    instead of being unknown. UserError if the records do not belong together, or to today's worlds.
    """
    _check(task, generation, execution, seeds)
    common = {
        "cell": generation.cell,
        "request_key": generation.answer.request_key,
        "task_sha256": task.sha256,
        "provenance": {
            "version": __version__,
            "check_sha256": task.check_sha256,
            "code_sha256": code_sha256,
        },
    }
    shell, command = SHELLS[generation.cell.shell], execution.extraction.strict
    if reason := execution.not_measured or execution.unmeasured:
        return Score(
            **common,
            **dict.fromkeys(_RESULTS),
            failure_class=None,
            why=f"Not measured: {reason}.",
            worlds=[],
            make_up=_composition(shell, command, []),
            not_measured=execution.not_measured,
            side_effects=[],
        )
    judged = [(run, *_judge(task, run, world_for)) for run in execution.runs]
    worlds = [_world_score(run, verdict, expected) for run, verdict, expected in judged]
    headline = [
        HeadlineRun(run.seed, run.result, verdict)
        for run, verdict, _ in judged
        if (run.condition, run.reading) == DECIDES
    ]
    verdicts = [run.verdict for run in headline]
    failure = classify(generation.answer.outcome, execution.extraction, shell, headline)
    ran = bool(headline) and generation.answer.outcome == "ok"
    passed = ran and all(run.passed for run in headline)
    effects = [effect for run in headline for effect in side_effects(run.result)]
    return Score(
        **common,
        passed=passed,
        structural_pass=ran and all(verdict.structural for verdict in verdicts),
        exit_ok=ran and all(verdict.exit_ok for verdict in verdicts),
        content_ok=ran and all(verdict.structure_ok and verdict.content for verdict in verdicts),
        lenient_passed=_lenient(execution, worlds, passed),
        **{
            c.score_field: _passed_under(c, shell, command, worlds, conditions or (), passed)
            for c in EXTRA_CONDITIONS
        },
        failure_class=failure.failure_class,
        why=failure.why,
        worlds=worlds,
        make_up=_composition(shell, command, headline),
        not_measured=None,
        side_effects=list(dict.fromkeys(effects)),
    )


_RESULTS = (
    *("passed", "structural_pass", "exit_ok", "content_ok", "lenient_passed"),
    *(condition.score_field for condition in EXTRA_CONDITIONS),
)
DECIDES: tuple[ConditionName, Reading] = (AS_DESIGNED.name, "strict")


def _check(
    task: Task, generation: Generation, execution: Execution, seeds: Sequence[int] | None
) -> None:
    cell = generation.cell
    what = ""
    if execution.cell != cell or cell.task != task.id:
        what = f"the records are of different cells: {cell.path}, {execution.cell.path}, {task.id}"
    elif execution.request_key != generation.answer.request_key:
        what = "the execution is of another answer"
    if what:
        raise UserError(what, where=cell.path, hint="delete the execution and run again")
    unrun = execution.not_measured or execution.unmeasured or execution.extraction.strict is None
    ran = [run.seed for run in execution.runs if (run.condition, run.reading) == DECIDES]
    if seeds is not None and not unrun and sorted(ran) != sorted(seeds):
        what = f"the execution has the worlds {sorted(ran)}, the study {sorted(seeds)}"
        raise UserError(what, where=cell.path, hint="run again; no answer is asked for twice")


def _judge(
    task: Task, run: Run, world_for: Callable[[Task, int], World]
) -> tuple[ExecutionVerdict, Any]:
    world = world_for(task, run.seed)
    if world.sha256 != run.world_sha256:
        raise UserError(
            "the command ran in a world that the present code does not build",
            where=f"{task.id}, world {run.seed}",
            hint="execute again, or score with the version that executed it",
        )
    expected = task.expected(world, run.result.processes)
    return judge(task, run.result, expected), expected


def _world_score(run: Run, verdict: ExecutionVerdict, expected: Any) -> WorldScore:
    passed = HeadlineRun(run.seed, run.result, verdict).passed
    why = "The output is right, but what the task had set up was stopped."
    return WorldScore(
        seed=run.seed,
        condition=run.condition,
        reading=run.reading,
        exit_ok=verdict.exit_ok,
        structural=verdict.structural,
        content=verdict.content,
        passed=passed,
        why=why if verdict.passed and not passed else verdict.why,
        expected=expected,
        wall_s=run.result.wall_s,
    )


def _lenient(execution: Execution, worlds: Sequence[WorldScore], passed: bool) -> bool | None:
    """None where the lenient reading differs from the strict one and was not run."""
    extraction = execution.extraction
    if extraction.lenient == extraction.strict or extraction.lenient is None:
        return passed
    return _all_passed(worlds, AS_DESIGNED.name, "lenient")


def _passed_under(
    condition: Condition,
    shell: Shell,
    command: str | None,
    worlds: Sequence[WorldScore],
    conditions: Sequence[ConditionName],
    passed: bool,
) -> bool | None:
    """Whether the answer passes under a condition; None where that was not asked, or asked and not run."""
    ran = _all_passed(worlds, condition.name, "strict")
    if ran is not None or condition not in shell.conditions or condition.name not in conditions:
        return ran
    return passed if command is None or not condition_applies(condition, shell, command) else None


def _all_passed(
    worlds: Sequence[WorldScore], condition: ConditionName, reading: Reading
) -> bool | None:
    runs = [
        world.passed for world in worlds if (world.condition, world.reading) == (condition, reading)
    ]
    return all(runs) if runs else None


def _composition(
    shell: Shell, command: str | None, headline: Sequence[HeadlineRun]
) -> Composition | None:
    """What the answer is made of; whether it parses is decided by the shell where it ran."""
    if command is None:
        return None
    started = [run.result for run in headline if run.result.spawn_error is None]
    accepted = parse(shell.grammar, command).parses
    if started:
        accepted = not any(is_syntax_error(shell, result, accepted) for result in started)
    return composition_of(shell.grammar, command, accepted)
