"""Compare the verdicts through Inspect AI with the recorded ones: `python -m fluency_inspect.agreement`.

The recordings (tests/data/executions*.jsonl) are commands with what real shells printed and the verdict on it, in
worlds 1 and 2. Each command of a shell that the image has runs again as an Inspect evaluation, and each world's verdict
is compared.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import eval as run_eval
from inspect_ai.log import EvalLog

from fluency.common.files import pretty_json, write_atomic
from fluency.common.paths import ROOT
from fluency_inspect.measure import shared_sandbox
from fluency_inspect.tasks import recorded_commands

RECORDINGS = ("executions.jsonl", "executions-more.jsonl")
SEEDS = (1, 2)


def recorded_by_command() -> dict[tuple[str, str, str], dict[int, dict[str, Any]]]:
    """(task, shell, command) -> world -> its recording."""
    found: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = {}
    for name in RECORDINGS:
        for text in (ROOT / "tests" / "data" / name).read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            found.setdefault((line["task"], line["shell"], line["command"]), {})[line["world"]] = (
                line
            )
    return found


def campaign(every: int, log_dir: str, at_a_time: int = 2) -> dict[str, Any]:
    """Run each `every`th command and compare; counts of verdicts, and each difference with both reasons."""
    recorded, sandbox = recorded_by_command(), shared_sandbox()
    shells = sorted({shell for _, shell, _ in recorded})
    absent = {shell: why for shell in shells if (why := sandbox.why_missing(shell))}
    chosen = [key for key in recorded if key[1] not in absent][::every]
    named = {
        f"{task}/{shell}/{number}": (task, shell, command)
        for number, (task, shell, command) in enumerate(chosen)
    }
    with tempfile.TemporaryDirectory() as folder:
        commands = Path(folder) / "commands.jsonl"
        commands.write_text(
            "".join(
                json.dumps({"id": name, "task": task, "shell": shell, "command": command}) + "\n"
                for name, (task, shell, command) in named.items()
            ),
            encoding="utf-8",
        )
        (log,) = run_eval(
            recorded_commands(str(commands), SEEDS),
            model="mockllm/model",
            log_dir=log_dir,
            display="none",
            max_samples=at_a_time,
            fail_on_error=False,
        )
    verdicts = [
        pair for name, key in named.items() for pair in _compared(log, name, key, recorded[key])
    ]
    other = [pair for pair in verdicts if not pair["same"]]
    return {
        "commands": len(chosen),
        "verdicts": len(verdicts),
        "same": len(verdicts) - len(other),
        "not_measured": {shell: sum(key[1] == shell for key in recorded) for shell in absent},
        "differences": other,
    }


def _compared(
    log: EvalLog, name: str, key: tuple[str, str, str], recorded: dict[int, dict[str, Any]]
) -> list[dict[str, Any]]:
    """One entry a world of a command."""
    (sample,) = [sample for sample in log.samples or [] if sample.id == name]
    score = (sample.scores or {}).get("verdict")
    worlds = (
        {world["seed"]: world for world in (score.metadata or {}).get("worlds", [])}
        if score
        else {}
    )
    whole = score is not None and score.value == (
        "C" if all(world["passed"] for world in worlds.values()) else "I"
    )
    compared = []
    for seed, line in recorded.items():
        now = worlds.get(seed)
        compared.append(
            {
                "sample": name,
                "command": key[2],
                "world": seed,
                "recorded": line["passed"],
                "now": now and now["passed"],
                "why": now["why"]
                if now
                else (sample.error.message if sample.error else "it has no verdict"),
                "same": now is not None and whole and now["passed"] == line["passed"],
            }
        )
    return compared


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts, write them to a file, and exit with 1 where fewer than 99 of 100 verdicts are the recorded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="each how many commands")
    parser.add_argument("--at-a-time", type=int, default=2)
    parser.add_argument("--logs", default=str(ROOT / "exports" / "agreement"))
    parser.add_argument(
        "--out", type=Path, default=ROOT / "tools" / "interop" / "inspect" / "agreement.json"
    )
    options = parser.parse_args(arguments)
    found = campaign(options.every, options.logs, options.at_a_time)
    write_atomic(options.out, pretty_json(found))
    print(
        f"{found['same']} of {found['verdicts']} verdicts of {found['commands']} commands are the recorded ones"
    )
    for one in found["differences"]:
        print(
            f"  {one['sample']} in world {one['world']}: recorded {one['recorded']}, now {one['now']}: {one['why']}"
        )
    return int(found["same"] < 0.99 * found["verdicts"] or not found["verdicts"])


if __name__ == "__main__":
    raise SystemExit(main())
