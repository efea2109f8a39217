"""FORMAT=inspect: a study as logs of Inspect AI, one a model, which `inspect view` opens.

Written by Inspect's own classes, so that the form is theirs: this module needs the environment of envs/interop.lock.
"""

from __future__ import annotations

from pathlib import Path

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalSample,
    EvalSpec,
    EvalStats,
    recompute_metrics,
    write_eval_log,
)
from inspect_ai.model import GenerateConfig, ModelUsage

from fluency import __version__
from fluency.common.errors import UserError
from fluency.core.held_out import HeldOutTask
from fluency.core.study import Cell, ModelConfig
from fluency.export.inspect_rows import sample_of_row
from fluency.export.inspect_samples import BESIDES, HEADLINE, sample_id, sample_of
from fluency.export.source import Source

TASK = "shell_fluency"
_BY_SHELL = {
    "name": "inspect_ai/grouped",
    "options": {
        "metric": {"type": "metric", "name": "inspect_ai/accuracy", "params": {}},
        "group_key": "shell",
        "all": False,  # arms are compared, never pooled
    },
}


def write(source: Source, folder: Path) -> list[Path]:
    """One log a model that has answers; returns them. UserError where there is none."""
    written = []
    for model in source.study.models:
        log = log_of(source, model)
        if log is not None:
            path = folder / f"{model.alias}.eval"
            write_eval_log(log, str(path))
            written.append(path)
    if not written:
        raise UserError("no model has answered yet", where=source.origin, hint="run the study, then export it")
    return written


def log_of(source: Source, model: ModelConfig) -> EvalLog | None:
    """A model's samples with Inspect's own metrics over them; None where it has no answer yet."""
    cells = [cell for cell in source.cells if cell.model == model.alias]
    samples = _samples(source, model, cells)
    if not samples:
        return None
    ids = list(dict.fromkeys(map(sample_id, cells)))
    log = EvalLog(
        status="success" if len(samples) == len(cells) else "cancelled",
        eval=_spec(source, model, samples, ids),
        plan=EvalPlan(steps=[EvalPlanStep(solver="generate")], config=_sent(samples)),
        stats=EvalStats(
            started_at=min(sample.started_at for sample in samples),
            completed_at=max(sample.completed_at for sample in samples),
            model_usage=_usage(samples),
        ),
        samples=samples,
    )
    recompute_metrics(log)
    log.results.total_samples = len(cells)
    return log


def _samples(source: Source, model: ModelConfig, cells: list[Cell]) -> list[EvalSample]:
    """Those of the cells that were answered; of a task that is held out what its rows tell."""
    tasks = {task.id: task for task in source.tasks}
    samples = [
        sample_of_row(source.row(cell), model.id)
        if isinstance(task := tasks[cell.task], HeldOutTask)
        else sample_of(cell, task.category, source.load(cell))
        for cell in cells
    ]
    return [sample for sample in samples if sample is not None]


def _sent(samples: list[EvalSample]) -> GenerateConfig:
    """The sampling of the model's first answer; a model is asked for all of them alike."""
    return next((sample.events[0].config for sample in samples if sample.events), GenerateConfig())


def _spec(source: Source, model: ModelConfig, samples: list[EvalSample], ids: list[str]) -> EvalSpec:
    study = source.study
    reducers = ["mean", f"pass_at_{study.trials}"] if study.trials > 1 else ["mean"]
    return EvalSpec(
        eval_id=f"{source.name}-{model.alias}",
        run_id=source.name,
        task_id=f"{source.name}-{model.alias}",
        created=min(sample.started_at for sample in samples),
        task=TASK,
        dataset=EvalDataset(name=study.study, samples=len(ids), sample_ids=ids, shuffled=False),
        model=model.id,
        model_generate_config=_sent(samples),
        config=EvalConfig(epochs=study.trials, epochs_reducer=reducers),
        packages={"agent-shell-fluency-eval": __version__},
        scorers=[{"name": name, "metrics": [_BY_SHELL]} for name in (HEADLINE, *BESIDES) if _known(name, samples)],
        metadata={"origin": source.origin, "alias": model.alias, "seeds": list(study.seeds)}
        | {"shells": list(study.shells), "conditions": list(study.conditions)},
    )


def _known(name: str, samples: list[EvalSample]) -> bool:
    """Whether any sample has a value under a score: a metric over none would be no number."""
    return any(s.scores and isinstance(s.scores[name].value, str) for s in samples)


def _usage(samples: list[EvalSample]) -> dict[str, ModelUsage]:
    """Tokens and dollars of all samples by model; what no server counted is not there."""
    total: dict[str, ModelUsage] = {}
    for sample in samples:
        for name, usage in sample.model_usage.items():
            total[name] = total[name] + usage if name in total else usage
    return total
