"""The design of a study as one document: everything a result depends on, and nothing of the machine or the day."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from fluency.analysis.analysis_plan import plan_for, plan_sha256
from fluency.archive.private_part import Hashed
from fluency.common.files import pretty_json
from fluency.core.held_out import folder_sha256
from fluency.core.shells import SHELLS, gap_shells
from fluency.core.stage_code import deciding_hashes
from fluency.core.study import ModelConfig, Study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, set_name
from fluency.execution.image_content import content_sha256
from fluency.generation.policies import resolve
from fluency.generation.prompt import PREAMBLE
from fluency.generation.request import PROTOCOL

EXCLUSIONS = [
    "a task enters a model's gap only with enough measured trials in both shells, as the plan's `task_enters` says",
    "a cell that could not be measured is missing, never failed, and is measured by a later run",
    "no task, model, trial or answer is left out for what came out of it",
]


def design(study: Study, tasks: Sequence[Task], world_for: Callable[[Task, int], Hashed] = world_for) -> dict[str, Any]:
    """Everything a result depends on and nothing of the machine, as it reads back from JSON."""
    plan = plan_for(gap_shells(study.shells))
    frozen = {
        "study": study.study,
        "task_set": set_name([task.id for task in tasks]),
        "tasks": {
            task.id: {
                "sha256": task.sha256,
                "prompt_sha256": task.prompt_sha256,
                "check_sha256": task.check_sha256,
                "worlds": {str(seed): world_for(task, seed).sha256 for seed in study.seeds},
                **({"folder_sha256": folder_sha256(task)} if task.private else {}),
            }
            for task in tasks
        },
        "models": {model.alias: _sampling(model) for model in study.models},
        "shells": list(study.shells),
        "trials": study.trials,
        "conditions": sorted(study.conditions),
        "seeds": study.seeds_sealed or list(study.seeds),
        "order_seed": study.order_seed,
        "limits": study.sandbox.limits.model_dump(mode="json"),
        "prompt": {"preamble": PREAMBLE, **{shell: SHELLS[shell].prompt_line for shell in study.shells}},
        "analysis": {"version": plan["version"], "sha256": plan_sha256(plan), "plan": plan},
        "code": deciding_hashes(),
        "sandbox_sha256": content_sha256(),
        "protocol": PROTOCOL,
        "exclusions": EXCLUSIONS,
    }
    document: dict[str, Any] = json.loads(pretty_json(frozen))
    return document


def _sampling(model: ModelConfig) -> dict[str, Any]:
    """How a model will be asked, as the policy table and the config resolve it; prices may change freely."""
    policy = resolve(model)
    return {
        "id": policy.model_id,
        "served_by": model.served_by,
        "base_url": model.base_url,
        "transport": model.transport,
        "temperature_requested": policy.temperature_requested,
        "temperature_sent": policy.temperature_sent,
        "on_refused_temperature": model.on_refused_temperature,
        "max_tokens": policy.max_tokens,
        "thinking": policy.thinking,
        "effort": policy.effort,
        "headers": dict(policy.headers),
        "extra_body": dict(policy.extra_body),
        "seeded": policy.seeded,
    } | {
        # Only where they say something: earlier registrations know none of them.
        key: value
        for key in ("wire", "interface", "region", "project")
        if (value := getattr(model, key)) not in ("messages", "reply", None)
    }
