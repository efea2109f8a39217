"""Compare the verdicts through Inspect AI with the recorded ones: `python -m fluency_inspect.agreement`.

The recordings (tests/data/executions.jsonl) are commands with what real shells printed and the
verdict on it, in worlds 11 and 24. Each command of a shell that the image has runs again as an Inspect evaluation.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from inspect_ai import eval as run_eval

from fluency.common.paths import ROOT
from fluency_inspect.measure import shared_sandbox
from fluency_inspect.tasks import recorded_commands

SEEDS = (11, 24)


def recorded() -> dict[tuple[str, str, str], dict[int, bool]]:
    """(task, shell, command) -> world -> whether it passed."""
    text = (ROOT / "tests" / "data" / "executions.jsonl").read_text(encoding="utf-8")
    return {
        (line["task"], line["shell"], line["command"]): {
            int(world): int(world) in line["passes"] for world in line["worlds"]
        }
        for line in map(json.loads, text.splitlines())
        if "worlds" in line
    }


def campaign(every: int = 1, at_a_time: int = 2) -> dict[str, Any]:
    """Run each `every`th command: counts of commands and verdicts, and each verdict that differs."""
    known, sandbox = recorded(), shared_sandbox()
    chosen = [key for key in known if not sandbox.why_missing(key[1])][::every]
    lines = [
        json.dumps({"id": str(number), "task": task, "shell": shell, "command": command})
        for number, (task, shell, command) in enumerate(chosen)
    ]
    with tempfile.TemporaryDirectory() as folder:
        commands = Path(folder) / "commands.jsonl"
        commands.write_text("\n".join(lines), encoding="utf-8")
        (log,) = run_eval(
            recorded_commands(str(commands), SEEDS),
            model="mockllm/model",
            log_dir=folder,
            display="none",
            max_samples=at_a_time,
            fail_on_error=False,
        )
        now = {sample.id: (sample.scores or {}).get("verdict") for sample in log.samples or []}
    differences, verdicts = [], 0
    for number, key in enumerate(chosen):
        score = now[str(number)]
        worlds = (
            {world["seed"]: world for world in (score.metadata or {})["worlds"]} if score else {}
        )
        passed = {seed: world["passed"] for seed, world in worlds.items()}
        verdicts += len(known[key])
        whole = "C" if passed and all(passed.values()) else "I"
        if passed != known[key] or (score and score.value != whole):
            why = [world["why"] for world in worlds.values()]
            differences.append({"command": key, "recorded": known[key], "now": passed, "why": why})
    return {"commands": len(chosen), "verdicts": verdicts, "differences": differences}


def main() -> int:
    """Print the counts and each difference; 1 if there is one."""
    found = campaign(int(sys.argv[1]) if sys.argv[1:] else 1)
    print(f"{found['verdicts']} verdicts of {found['commands']} commands were compared")
    for difference in found["differences"]:
        print(f"differs: {json.dumps(difference, ensure_ascii=False)}")
    return int(bool(found["differences"]) or not found["verdicts"])


if __name__ == "__main__":
    raise SystemExit(main())
