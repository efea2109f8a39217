"""Studies made up for the explorer: valid records of realistic sizes, the same for the same arguments."""

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, get_args

import pandas as pd

from fluency.common.files import sha256
from fluency.core.records import (
    Answer,
    Composition,
    Execution,
    Extraction,
    FailureClass,
    Generation,
    ImageInfo,
    Request,
    Result,
    Run,
    Score,
    Stream,
    Usage,
    Used,
    WorldScore,
)
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study import Cell, Limits, Study
from fluency.core.study_view import StudyView
from fluency.core.table import CellRecords, Row, cell_row, to_frame
from fluency.core.tasks import CATEGORIES, Structure, Task
from fluency.generation.request import build_prompt

COMMANDS = {
    "bash": [
        "find crates/vox-ml-cli -type f -mtime -7 -size +10240c",
        "grep -h '^version = ' crates/*/Cargo.toml | awk -F'\"' '{print $2}' | sort | uniq -c  # count",
    ],
    "pwsh": [
        "Get-ChildItem crates -Recurse -File | Where-Object { $_.Length -gt 10240 } | ForEach-Object FullName",
        "Select-String -Path crates/*/Cargo.toml -Pattern '^version = \"(.+)\"' | ForEach-Object { $_.Matches[0].Groups[1].Value } # versions",
    ],
}
FAILURES: tuple[FailureClass, ...] = get_args(FailureClass)
IMAGE = ImageInfo(
    image_id="sha256:" + "1f" * 32, content_sha256="2e" * 32, base="debian:bookworm-slim", architecture="amd64",
    shells={"bash": "5.2.15", "pwsh": "7.6.5"}, packages_sha256="3d" * 32,
)  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A made-up study, complete."""

    frame: pd.DataFrame
    study: Study
    tasks: list[Task]
    load: Callable[[Cell], CellRecords]

    @property
    def view(self) -> StudyView:
        return StudyView(self.study, self.tasks, [], self.load)


def make_task(number: int, name: str | None = None, content: str = "paths") -> Task:
    names = ("stale-lockfiles", "crate-versions", "worker-queues", "fetch-top-crates")
    return Task(
        id=name or f"{names[number % 4]}-{number}", category=CATEGORIES[number % 4],
        provenance="written", provenance_note="made for a test", fixture="made for a test", fairness="made for a test",
        prompt=f"Task {number}: list every regular file under crates/vox-ml-cli (at any depth) that was modified within the last 7 days "
        "and is larger than 10240 bytes. Print one path per line (absolute, or relative to the current directory), in any order.",
        structure=Structure(line=r"^\S.*$"),
        content=content,
        references={"bash": ["true"], "pwsh": ["exit 0"]},
        wrong={"bash": ["false"], "pwsh": ["exit 1"]},
    )  # fmt: skip


def make_study(
    models: int = 2, trials: int = 5, name: str = "made-up", shells: tuple[str, ...] = DESIGN_SHELLS
) -> Study:
    names = ["qwen-0.5b", "qwen-3b", "opus-4-7", *(f"model-{n}" for n in range(4, 99))]
    named = [{"alias": alias, "id": f"{alias}-instruct-2026"} for alias in names[:models]]
    return Study.model_validate(
        {"study": name, "trials": trials, "shells": list(shells), "models": named}
    )


def make_cell(
    cell: Cell, task: Task, *, state: str | None = None, text: str | None = None, scale: int = 1
) -> tuple[CellRecords, Row]:
    """One cell's records and its row of the table.

    state: `passed`, a failure class, `missing`, `not_measured`; without it one drawn at random.
    text: put into every field that a model or its command can fill. scale: how long failing outputs are.
    """
    rng = random.Random(cell.path)
    state = state or rng.choice(
        ["passed"] * 14 + ["silent-wrong"] * 4 + ["non-zero-exit"] * 3 + list(FAILURES)
    )
    name = {**asdict(cell), "category": task.category}
    if state in ("missing", "not_measured"):
        return CellRecords(None, None, None), Row(
            **name, status=state, reason=text or "the image holds no PowerShell"
        )
    passed = state == "passed"
    command = text or rng.choice(COMMANDS[SHELLS[cell.shell].grammar]) + (
        f" | head -n {rng.randint(1, 999)}" if rng.random() < 0.4 else ""
    )
    lenient = None
    if state == "format":
        lenient = command
        command = (
            text
            or f"Sure! Here is a command that does it:\n\n```{cell.shell}\n{command}\n```\n\nThat is all."
        )
    stored = sha256(cell.path)
    answer = Answer(
        request_key=stored,
        request=Request(
            model_id=f"{cell.model}-instruct-2026", prompt=build_prompt(task.prompt, cell.shell), max_tokens=1024, temperature=0.7,
            protocol=1, trial=cell.trial,
        ),
        outcome="refusal" if state == "refusal" else "ok", text=command, raw={"content": [{"type": "text", "text": command}]},
        stop_reason=text or "end_turn", model_echoed=text, request_id=text or f"req_{stored[:20]}",
        usage=Usage(input_tokens=rng.randint(120, 190), output_tokens=rng.randint(9, 140)), latency_s=rng.lognormvariate(0.5, 0.6),
        received_utc=f"2026-11-22T0{rng.randint(0, 9)}:{rng.randint(10, 59)}:{rng.randint(10, 59)}Z", server=text or "embedded", client="fluency 0.1.0",
    )  # fmt: skip
    hashes: dict[str, Any] = {
        "fluency": "0.1.0",
        "generated_utc": answer.received_utc,
        "host": text or "linux",
    }
    generation = Generation(
        cell=cell, answer=answer, temperature_requested=0.7, cost_usd=0.0, price=None, task_sha256=sha256(task.id),
        provenance=hashes,
    )  # fmt: skip
    kinds = [("as_designed", "strict")] + (
        [("no_unix_tools", "strict")] if cell.shell == "pwsh" else []
    )
    if lenient is not None:
        kinds.append(("as_designed", "lenient"))
    runs, worlds = [], []
    for condition, reading in kinds:
        for world in (11, 24):
            run, judged = make_run(rng, task, cell, world, condition, reading, passed, text, scale)
            runs.append(run)
            worlds.append(judged)
    execution = Execution(
        cell=cell, request_key=stored,
        extraction=Extraction(strict=command, lenient=lenient or command, fenced=rng.random() < 0.5, notes=[text] if text else []),
        runs=runs, image=IMAGE, limits=Limits(), timeout_s=30.0,
        engine={"name": "docker", "version": "20.10.24", "cgroup": 1, "kernel": text or "6.1.0"}, provenance=hashes,
    )  # fmt: skip
    made = (
        rng.choice(["cmdlets-only", "mixed", "unix-only"]) if cell.shell == "pwsh" else "unix-only"
    )
    why = text or (
        "both worlds as expected"
        if passed
        else f"world 24: {rng.randint(1, 9)} of {rng.randint(9, 20)} lines missing"
    )
    score = Score(
        cell=cell, request_key=stored, passed=passed, structural_pass=passed, exit_ok=passed, content_ok=passed,
        lenient_passed=passed, no_unix_tools_passed=passed if cell.shell == "pwsh" else None, failure_class=None if passed else state,
        why=why, worlds=worlds, make_up=Composition(made_of=made, commands=[text] if text else ["find", "sort", "head"]), not_measured=None,
        side_effects=[text] if text else [], task_sha256=sha256(task.id), provenance=hashes,
    )  # fmt: skip
    records = CellRecords(generation, execution, score)
    return records, cell_row(cell, task, records)


def make_run(
    rng, task, cell, world, condition, reading, passed, text, scale
) -> tuple[Run, WorldScore]:
    fixed = random.Random(f"{task.id}:{world}")
    wanted = [
        f"crates/vox-{n}/src/{fixed.choice(['lib', 'main', 'gen/tables'])}.rs"
        for n in fixed.sample(range(99), 9)
    ]
    printed = list(wanted)
    if not passed:
        printed = [line for line in printed if rng.random() < 0.8]
        printed += [
            f"crates/vox-{rng.randrange(10**9)}/Cargo.toml"
            for _ in range(rng.randint(0, 8) * scale)
        ]
    out = "".join(f"{'/work/' if cell.shell == 'pwsh' else ''}{line}\n" for line in printed)
    error = (
        ""
        if passed
        else f"bash: line 1: vox-{rng.randrange(10**6)}: command not found\n"
        * rng.randint(0, 6 * scale)
    )
    if text:
        wanted, out, error = [text, *wanted], text + "\n" + out, text
    result = Result(
        exit_code=0 if passed or rng.random() < 0.6 else 127, stdout=Stream.of(out.encode()), stderr=Stream.of(error.encode()),
        wall_s=round(rng.random(), 6), used=Used(cpu_s=round(rng.random() / 9, 4), peak_memory_bytes=rng.randrange(2**27)),
        leftover=[text] if text else [], spawn_error=text,
    )  # fmt: skip
    run = Run(
        seed=world,
        world_sha256=sha256(str(world)),
        condition=condition,
        reading=reading,
        result=result,
    )
    why = text or (
        "as expected" if passed else f"{len(printed)} lines where {len(wanted)} are expected"
    )
    judged = WorldScore(
        seed=world, condition=condition, reading=reading, exit_ok=passed, structural=passed, content=passed, passed=passed,
        why=why, expected=sorted(wanted), wall_s=result.wall_s,
    )  # fmt: skip
    return run, judged


def make_explorer(
    models: int = 2,
    tasks: int = 20,
    trials: int = 5,
    *,
    text: str | None = None,
    scale: int = 1,
    states: dict[str, str] | None = None,
    shells: tuple[str, ...] = DESIGN_SHELLS,
) -> Made:
    """A whole study; `states` fixes the state of some cells by their paths."""
    study, bank = make_study(models, trials, shells=shells), [make_task(n) for n in range(tasks)]
    by_id = {task.id: task for task in bank}
    records: dict[Cell, CellRecords] = {}
    rows = []
    for cell in study.cells([task.id for task in bank]):
        state = (states or {}).get(cell.path)
        records[cell], row = make_cell(cell, by_id[cell.task], state=state, text=text, scale=scale)
        rows.append(row)
    return Made(to_frame(rows), study, bank, records.__getitem__)
