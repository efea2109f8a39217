"""Runs the tasks with Inspect AI: `python run_inspect_tasks.py OUT` writes JSON.

In the environment of envs/interop.lock. The model is Inspect's own mock, which answers as scripted.
"""

import json
import sys
from pathlib import Path

from inspect_ai import eval as run_eval
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from fluency.core.shells import DESIGN_SHELLS
from fluency.core.tasks import load_tasks
from fluency_inspect import shell_fluency
from fluency_inspect.agreement import campaign

REFERENCE, REFUSED, WRONG = "stale-lockfiles", "tree-size-bytes", "crates-without-readme"


def says(shell):
    """The mock: a reference of one task, a refusal of another, a wrong command of the third."""
    prompts = {task.prompt.strip(): task for task in load_tasks([REFERENCE, REFUSED, WRONG])}

    def answer(messages, *_):
        task = next(task for prompt, task in prompts.items() if prompt in messages[-1].text)
        command = (task.wrong if task.id == WRONG else task.references)[shell][0]
        said = ("", "content_filter") if task.id == REFUSED else (command, "stop")
        output = ModelOutput.from_content("m", *said)
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        return output

    return answer


def asked(shell, folder):
    model = get_model("mockllm/model", custom_outputs=says(shell))
    task = shell_fluency(shell=shell, tasks=",".join([REFERENCE, REFUSED, WRONG]))
    (log,) = run_eval(task, model=model, log_dir=folder, display="none")
    log = read_eval_log(log.location)
    scores = {sample.id: sample.scores["verdict"] for sample in log.samples}
    found = {}
    for name, score in scores.items():
        value = score.value if isinstance(score.value, str) else None
        found[name] = [value, score.explanation, score.answer]
    metrics = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    return {"status": log.status, "scores": found, "metrics": metrics}


if __name__ == "__main__":
    out = Path(sys.argv[1])
    logs = str(out.parent / "logs")
    found = {shell: asked(shell, logs) for shell in DESIGN_SHELLS}
    out.write_text(json.dumps(found | {"agreement": campaign(200, 4)}))
