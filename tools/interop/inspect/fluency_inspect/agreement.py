"""Compare the verdicts through Inspect AI with the recorded ones: `make inspect-verdicts`.

Each command of tests/data/executions.jsonl whose shell the image has runs again, in place of a
model's answer, in the worlds of the recording.
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import MemoryDataset
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT
from inspect_ai.solver import Generate, Solver, TaskState, solver

from fluency.cli import exit_code_of
from fluency.common.paths import ROOT
from fluency.core.tasks import load_tasks
from fluency_inspect.measure import shared_sandbox
from fluency_inspect.tasks import SEEDS, sample_of
from fluency_inspect.verdict import verdict

RECORDINGS = ROOT / "tests" / "data" / "executions.jsonl"


@solver
def say_the_command() -> Solver:
    """The sample's own command as the answer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("recorded", state.metadata["command"])
        state.messages.append(state.output.message)
        return state

    return solve


def campaign(every: int = 1, at_a_time: int = 2) -> dict[str, Any]:
    """Run each `every`th command: counts of commands and verdicts, and what differs."""
    lines = map(json.loads, RECORDINGS.read_text(encoding="utf-8").splitlines())
    known = [line for line in lines if "worlds" in line]
    chosen = [line for line in known if not shared_sandbox().why_missing(line["shell"])][::every]
    tasks = {task.id: task for task in load_tasks()}
    samples = [
        sample_of(tasks[line["task"]], line["shell"], str(number), {"command": line["command"]})
        for number, line in enumerate(chosen)
    ]
    dataset = MemoryDataset(samples, name="recorded")
    with tempfile.TemporaryDirectory() as folder:
        (log,) = run_eval(
            Task(dataset=dataset, solver=say_the_command(), scorer=verdict(SEEDS)),
            model="mockllm/model",
            log_dir=folder,
            display="none",
            max_samples=at_a_time,
            fail_on_error=False,
        )
        scores = {sample.id: (sample.scores or {}).get("verdict") for sample in log.samples or []}
    differences = []
    for number, line in enumerate(chosen):
        score = scores[str(number)]
        worlds = (score.metadata or {})["worlds"] if score else []
        passes = [world["seed"] for world in worlds if world["passed"]]
        whole = CORRECT if line["passes"] == SEEDS else INCORRECT
        if score is None or passes != line["passes"] or score.value != whole:
            named = {key: line[key] for key in ("task", "shell", "command", "passes")}
            differences.append(named | {"now": passes, "why": [world["why"] for world in worlds]})
    verdicts = len(SEEDS) * len(chosen)
    return {"commands": len(chosen), "verdicts": verdicts, "differences": differences}


def main() -> int:
    """Print the counts and each difference; 1 if there is one."""
    found = campaign(*map(int, sys.argv[1:]))
    print(f"{found['verdicts']} verdicts of {found['commands']} commands were compared")
    for difference in found["differences"]:
        print(f"differs: {json.dumps(difference, ensure_ascii=False)}")
    return int(bool(found["differences"]) or not found["verdicts"])


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
