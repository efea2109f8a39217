"""The third stage: judge a cell's runs. The same records and code give the same score."""

from fluency import __version__
from fluency.common.errors import UserError
from fluency.core.grammar import condition_applies, parse
from fluency.core.records import Execution, Generation, Reading, Run, Score, WorldScore
from fluency.core.shells import AS_DESIGNED, EXTRA_CONDITIONS, SHELLS, ConditionName
from fluency.core.study import Study
from fluency.core.task_world import WorldFor
from fluency.core.tasks import Task
from fluency.scoring.commands import composition_of, is_syntax_error
from fluency.scoring.failure_class import Classification, HeadlineRun, classify
from fluency.scoring.judgement import judge_in


def score_cell(
    study: Study,
    task: Task,
    generation: Generation,
    execution: Execution,
    world_for: WorldFor,
    code_sha256: str,
) -> Score:
    """The score of a cell from its records; `code_sha256` is of the code that scores.

    An answer that was not run under a condition of the study, because it has no command or calls
    nothing that the condition changes, counts as designed there.

    Raises:
        UserError: if the records do not belong together, to all worlds of the study, or to
            today's worlds.
    """
    _check(study, task, generation, execution)
    shell, command = SHELLS[generation.cell.shell], execution.extraction.strict
    scored = [_score_run(task, run, world_for) for run in execution.runs]
    worlds = [world for _, world in scored]
    headline = [run for run, world in scored if (world.condition, world.reading) == DECIDES]

    ran = bool(headline) and generation.answer.outcome == "ok"
    passed = ran and all(run.passed for run in headline)

    def settled(condition: ConditionName, reading: Reading, unknown: bool) -> bool | None:
        """Whether the answer passes so; where it was not run, as the headline unless `unknown`."""
        way = condition, reading
        runs = [world.passed for world in worlds if (world.condition, world.reading) == way]
        if runs:
            return all(runs)
        return None if unknown else passed

    judgements = [run.judgement for run in headline]
    loose = execution.extraction.lenient not in (None, command)
    passes: dict[str, bool | None] = {
        "passed": passed,
        "structural_pass": ran and all(one.structural for one in judgements),
        "exit_ok": ran and all(one.exit_ok for one in judgements),
        "content_ok": ran and all(one.right for one in judgements),
        "lenient_passed": settled(AS_DESIGNED.name, "lenient", loose),
    }
    under: dict[ConditionName, bool | None] = {}
    for condition in EXTRA_CONDITIONS:
        asked = condition in shell.conditions and condition.name in study.conditions
        applies = command is not None and condition_applies(condition, shell, command)
        under[condition.name] = settled(condition.name, "strict", applies or not asked)
    failure = classify(generation.answer.outcome, execution.extraction, shell, headline)
    if reason := execution.not_measured or execution.unmeasured:
        passes, under = dict.fromkeys(passes), dict.fromkeys(under)
        failure = Classification(None, f"Not measured: {reason}.")
    make_up = None
    if command is not None and shell.grammar is not None:
        # Whether it parses is decided by the shell where it ran.
        results = [run.result for run in headline if run.result.spawn_error is None]
        parses = parse(shell.grammar, command).parses
        if results:
            parses = not any(is_syntax_error(shell, result, parses) for result in results)
        make_up = composition_of(shell.grammar, command, parses)
    return Score(
        cell=generation.cell,
        request_key=generation.answer.request_key,
        task_sha256=task.sha256,
        provenance={
            "version": __version__,
            "check_sha256": task.check_sha256,
            "code_sha256": code_sha256,
        },
        **passes,
        passed_under=under,
        failure_class=failure.failure_class,
        why=failure.why,
        worlds=worlds,
        make_up=make_up,
        not_measured=execution.not_measured,
    )


MOST_LEFT = 50
"""Clauses that a record keeps of a state."""
DECIDES: tuple[ConditionName, Reading] = (AS_DESIGNED.name, "strict")


def _check(study: Study, task: Task, generation: Generation, execution: Execution) -> None:
    cell = generation.cell
    what = ""
    unrun = execution.not_measured or execution.unmeasured or execution.extraction.strict is None
    ran = sorted(run.seed for run in execution.runs if (run.condition, run.reading) == DECIDES)
    asked = cell, cell.task, generation.answer.request_key
    if asked != (execution.cell, task.id, execution.request_key):
        what = "the records are of different cells or answers"
    elif not unrun and ran != sorted(study.seeds):
        what = f"the execution has the worlds {ran}, the study {sorted(study.seeds)}"
    if what:
        hint = "delete the execution and run again; no answer is asked for twice"
        raise UserError(what, where=cell.path, hint=hint)


def _score_run(task: Task, run: Run, world_for: WorldFor) -> tuple[HeadlineRun, WorldScore]:
    world = world_for(task, run.seed)
    if world.sha256 != run.world_sha256:
        raise UserError(
            "the command ran in a world that the present code does not build",
            where=f"{task.id}, world {run.seed}",
            hint="execute again, or score with the version that executed it",
        )
    expected = task.expected(world, run.result.processes)
    made = HeadlineRun(run.seed, run.result, judge_in(world, task, run.result))
    judgement = made.judgement
    stopped = "The output is right, but what the task had set up was stopped."
    return made, WorldScore(
        seed=run.seed,
        condition=run.condition,
        reading=run.reading,
        exit_ok=judgement.exit_ok,
        structural=judgement.structural,
        content=judgement.content,
        passed=made.passed,
        why=stopped if judgement.passed and not made.passed else judgement.why,
        expected=expected,
        left=list(judgement.left[:MOST_LEFT]),
        unasked=judgement.unasked,
        wall_s=run.result.wall_s,
    )
