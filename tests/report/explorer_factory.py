"""Studies made up for the explorer: valid records of realistic sizes, the same for the same arguments."""

import base64
import itertools
import random
import re
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import get_args

import pandas as pd

from fluency.common.files import sha256
from fluency.core.provenance import Provenance
from fluency.core.records import (
    Answer,
    Composition,
    Execution,
    Extraction,
    FailureClass,
    Generation,
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
from tests.synthetic_tables import IMAGE, make_study

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
MODELS = ["qwen-0.5b", "qwen-3b", "opus-4-7", *(f"model-{n}" for n in range(4, 11))]


@dataclass(frozen=True)
class Made:
    """A made-up study, complete."""

    frame: pd.DataFrame
    study: Study
    tasks: list[Task]
    load: Callable[[Cell], CellRecords]

    @property
    def view(self) -> StudyView:
        cells = [*self.study.cells([task.id for task in self.tasks])]
        return StudyView(self.study, self.tasks, cells, self.load, Provenance(), None)


def make_task(number) -> Task:
    names = ("stale-lockfiles", "crate-versions", "worker-queues", "fetch-top-crates")
    return Task(
        id=f"{names[number % 4]}-{number}", category=CATEGORIES[number % 4],
        provenance="written", provenance_note="made", fixture="made", fairness="made",
        prompt=f"Task {number}: list every regular file under crates/vox-ml-cli (at any depth) "
        "that is larger than 10240 bytes. Print one path per line, in any order.",
        structure=Structure(line=r"^\S.*$"),
        content="paths",
        references={"bash": ["true"], "pwsh": ["exit 0"]},
        wrong={"bash": ["false"], "pwsh": ["exit 1"]},
    )  # fmt: skip


def make_cell(cell: Cell, task: Task, state, text, scale) -> tuple[CellRecords, Row]:
    """One cell's records and its row of the table.

    state: `passed`, a failure class, `missing`, `not_measured`; without it one drawn at random.
    text: put into every field that a model or its command can fill. scale: how long failing outputs are.
    """
    rng = random.Random(cell.path)
    state = state or rng.choice(["passed"] * 14 + ["silent-wrong"] * 4 + list(FAILURES))
    name = {**asdict(cell), "category": task.category}
    if state in ("missing", "not_measured"):
        row = Row(**name, status=state, reason=text or "the image holds no PowerShell")
        return CellRecords(None, None, None), row
    passed = state == "passed"
    command = text or rng.choice(COMMANDS[SHELLS[cell.shell].grammar or "bash"])
    lenient = None
    if state == "format":
        lenient = command
        command = text or f"Sure! Here is a command:\n\n```{cell.shell}\n{command}\n```\n"
    stored = sha256(cell.path)
    answer = Answer(
        request_key=stored,
        request=Request(
            model_id=f"{cell.model}-id", prompt=build_prompt(task.prompt, cell.shell),
            max_tokens=1024, temperature=0.7, protocol=1, trial=cell.trial,
        ),
        outcome="refusal" if state == "refusal" else "ok", text=command, raw={"content": command},
        stop_reason=text or "end_turn", model_echoed=text, request_id=text or f"req_{stored[:20]}",
        usage=Usage(input_tokens=155, output_tokens=97), latency_s=1.625,
        received_utc="2026-11-22T09:41:27Z", server=text or "embedded", client="fluency 0.1.0",
    )  # fmt: skip
    hashes = {"generated_utc": answer.received_utc, "host": text or "linux"}
    generation = Generation(
        cell=cell, answer=answer, temperature_requested=0.7, cost_usd=0.0, price=None,
        task_sha256=sha256(task.id), provenance=hashes,
    )  # fmt: skip
    kinds = [("as_designed", "strict")]
    if cell.shell == "pwsh":
        kinds.append(("no_unix_tools", "strict"))
    if lenient is not None:
        kinds.append(("as_designed", "lenient"))
    runs, worlds = [], []
    for (condition, reading), world in itertools.product(kinds, (11, 24)):
        fixed = random.Random(f"{task.id}:{world}")
        wanted = [f"crates/vox-{n}/src/lib.rs" for n in fixed.sample(range(99), 9)]
        printed, error = list(wanted), ""
        if not passed:
            printed = [line for line in printed if rng.random() < 0.8]
            more = range(rng.randint(0, 8) * scale)
            printed += [f"crates/vox-{rng.randrange(10**9)}/Cargo.toml" for _ in more]
            error = "bash: line 1: vox: command not found\n" * rng.randint(0, 6 * scale)
        out = "".join(f"{'/work/' if cell.shell == 'pwsh' else ''}{line}\n" for line in printed)
        if text:
            wanted, out, error = [text, *wanted], text + "\n" + out, text
        result = Result(
            exit_code=0 if passed else 127, wall_s=0.25, used=Used(cpu_s=0.1, peak_memory_bytes=2**27),
            stdout=Stream.of(out.encode()), stderr=Stream.of(error.encode()),
            leftover=[text] if text else [], spawn_error=text,
        )  # fmt: skip
        place = {"seed": world, "condition": condition, "reading": reading}
        runs.append(Run(world_sha256=sha256(str(world)), result=result, **place))
        why = text or ("as expected" if passed else f"{len(printed)} lines where 9 are expected")
        judged = WorldScore(
            **place, exit_ok=passed, structural=passed, content=passed, passed=passed,
            why=why, expected=sorted(wanted), wall_s=result.wall_s,
        )  # fmt: skip
        worlds.append(judged)
    execution = Execution(
        cell=cell, request_key=stored,
        extraction=Extraction(
            strict=command, lenient=lenient or command, notes=[text] if text else []
        ),
        runs=runs, image=IMAGE, limits=Limits(), timeout_s=30.0,
        engine={"name": "docker", "version": "20.10.24", "cgroup": 1, "kernel": text or "6.1.0"}, provenance=hashes,
    )  # fmt: skip
    made = rng.choice(["cmdlets-only", "mixed"]) if cell.shell == "pwsh" else "unix-only"
    why = text or ("both worlds as expected" if passed else "world 24: 3 of 9 lines missing")
    score = Score(
        cell=cell, request_key=stored, why=why, worlds=worlds, not_measured=None,
        passed=passed, structural_pass=passed, exit_ok=passed or state == "silent-wrong", content_ok=passed,
        lenient_passed=passed, passed_under={"no_unix_tools": passed if cell.shell == "pwsh" else None},
        failure_class=None if passed else state,
        make_up=Composition(made_of=made, commands=[text or "find"]),
        task_sha256=sha256(task.id), provenance=hashes,
    )  # fmt: skip
    records = CellRecords(generation, execution, score)
    return records, cell_row(cell, task, records)


def make_explorer(
    models=2,
    tasks=20,
    trials=5,
    *,
    text=None,
    scale=1,
    states=None,
    shells=DESIGN_SHELLS,
) -> Made:
    """A whole study; `states` fixes the state of some cells by their paths."""
    study = make_study(MODELS[:models], trials, shells)
    bank = [make_task(n) for n in range(tasks)]
    by_id = {task.id: task for task in bank}
    records: dict[Cell, CellRecords] = {}
    rows = []
    for cell in study.cells([task.id for task in bank]):
        state = (states or {}).get(cell.path)
        records[cell], row = make_cell(cell, by_id[cell.task], state, text, scale)
        rows.append(row)
    return Made(to_frame(rows), study, bank, records.__getitem__)


def details_of(explorer):
    """The JSON of the cells' views that a page holds packed."""
    (packed,) = re.findall(r'id="details">([^<]*)<', explorer.read_text())
    return zlib.decompress(base64.b64decode(packed)).decode()
