"""Studies and cells tables made up for tests: the numbers are chosen, the shape is the real one."""

import random
from dataclasses import asdict
from datetime import datetime, timedelta
from types import SimpleNamespace

import pandas as pd

from fluency.analysis.outcomes import Outcomes, ShellPasses
from fluency.core.provenance import Provenance
from fluency.core.records import ImageInfo
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Study
from fluency.core.study_view import StudyView
from fluency.core.table import CellRecords, Row, to_frame
from fluency.core.tasks import CATEGORIES

IMAGE = ImageInfo(
    image_id="sha256:77", content_sha256="78" * 32, base="debian:12", architecture="amd64",
    shells={"bash": "5.2.15", "pwsh": "7.6.5"}, packages_sha256="79" * 32,
    archives={"pwsh": "ab" * 32}, unofficial=["pwsh"],
)  # fmt: skip


def make_tasks(count=20, prefix="task", leans=(None,)) -> list[SimpleNamespace]:
    """Stand-ins for the task bank: the analysis reads only these fields of a task."""
    kinds = [CATEGORIES[min(i * 4 // max(count, 4), 3)] for i in range(count)]
    origins = ["design"] * 3 + ["allowlist"] * 5 + ["written"] * max(count - 8, 0)
    made = []
    for i in range(count):
        about = {"category": kinds[i], "lean": leans[i % len(leans)], "provenance": origins[i]}
        about |= {"id": f"{prefix}-{i + 1:02d}", "version": 1, "sha256": f"{i:064x}"}
        about["references"] = {"bash": ["true"], "pwsh": ["$true"]}
        prompt = f"Do the thing number {i} and print it."
        made.append(SimpleNamespace(private=False, prompt=prompt, **about))
    return made


def make_study(models=("model-x",), trials=5, shells=DESIGN_SHELLS, **more) -> Study:
    """Of models by alias, or as entries; every study of the tests that no file states is its."""
    named = [{"alias": m, "id": f"{m}-id"} if isinstance(m, str) else m for m in models]
    values = {"study": "made-up", "trials": trials, "shells": [*shells], "models": named}
    values["sandbox"] = {"limits": {"timeout_s": {}}}  # filled for a test's own shell, too
    return Study.model_validate(values | more)


def view_of(study: Study, tasks, provenance: Provenance | None = None) -> StudyView:
    """A study as the report sees it, of which there is a table and no record."""
    return StudyView(study, tasks, [], lambda cell: CellRecords(None, None, None),
                     provenance=provenance or Provenance(), control=None)  # fmt: skip


def make_rows(
    study: Study, tasks, passes, minutes=lambda cell, place: place / 60, **fixed
) -> list[Row]:
    """One row a cell.

    passes: Gives True, False, None (missing) or "not_measured".
    minutes: Says when, by cell and place in the planned order.
    """
    rng = random.Random(1)
    by_id = {task.id: task for task in tasks}
    rows = []
    cells = list(study.cells([task.id for task in tasks]))
    order = {c: n for n, c in enumerate(sorted(cells, key=study.priority, reverse=True))}
    for cell in cells:
        mark = passes(cell)
        base = dict(asdict(cell), category=by_id[cell.task].category)
        if mark is None:
            rows.append(Row(**base, status="missing", reason="no generation yet"))
        elif mark == "not_measured":
            absent = {"status": mark, "reason": "the sandbox image holds no PowerShell 7"}
            rows.append(Row(**base, **absent, outcome="ok", command="Get-Item x"))
        else:
            asked = datetime(2026, 5, 1, 10) + timedelta(minutes=minutes(cell, order[cell]))
            asked_utc = f"{asked.isoformat(timespec='seconds')}Z"
            values = measured(cell, bool(mark), rng) | {"asked_utc": asked_utc}
            rows.append(Row(**base, **(values | fixed)))
    return rows


def measured(cell, mark, rng) -> dict:
    pwsh = cell.shell == "pwsh"
    failing = "non-zero-exit" if rng.random() < 0.4 else "silent-wrong"
    kinds = ["cmdlets-only", "cmdlets-only", "mixed", "unix-only"]
    made_of = rng.choice(kinds) if pwsh else "unix-only"
    right = mark or failing == "silent-wrong"
    printed = "Get-ChildItem Where-Object" if pwsh else "find sort"
    command = "Get-ChildItem crates | Where-Object Length" if pwsh else "find crates -type f | sort"
    return {
        "status": "measured",
        "passed": mark,
        "content_ok": mark,
        "lenient_passed": mark,
        "structural_pass": right,
        "exit_ok": right,
        "quiet": right and not mark,
        "unasked_changes": 0,
        "windows_aliases_passed": mark if pwsh else None,
        "no_unix_tools_passed": (mark and made_of == "cmdlets-only") if pwsh else None,
        "worlds_passed": 2 if mark else 0,
        "worlds_run": 2,
        "failure_class": None if mark else failing,
        "why": "" if mark else f"world 11: {failing}",
        "made_of": made_of,
        "commands": printed,
        "outcome": "ok",
        "command": command,
        "input_tokens": 90,
        "output_tokens": 20,
        "cost_usd": 0.0007,
        "temperature_sent": "0.7",
        "model_echoed": f"{cell.model}-id",
        "t_gen_s": round(1 + rng.random(), 3),
        "timed_out": False,
        "t_exec_s": round((0.45 if pwsh else 0.03) * (1 + rng.random()), 4),
    }


def make_frame(study: Study, tasks, passes, **more) -> pd.DataFrame:
    return to_frame(make_rows(study, tasks, passes, **more))


def random_passes(seed: int = 3, bash: float = 0.6, pwsh: float = 0.68):
    """Task difficulties shared by the shells, as in the design's scenarios."""
    rng = random.Random(seed)
    levels: dict[tuple[str, str], float] = {}

    def passes(cell) -> bool:
        key = (cell.model, cell.task)
        if key not in levels:
            levels[key] = rng.random()
        share = {"bash": bash, "pwsh": pwsh}.get(cell.shell, 0.5)
        level = 0.95 if levels[key] < share * 0.7 else 0.05 if levels[key] > 0.9 else share
        return rng.random() < level

    return passes


def contrasted(bash: ShellPasses, pwsh: ShellPasses, trials=5) -> Outcomes:
    """Both shells of the design over tasks t0, t1, …"""
    tasks = tuple(f"t{place}" for place in range(len(bash.passes)))
    return Outcomes(tasks, trials, {"bash": bash, "pwsh": pwsh})


def from_counts(counts: dict[str, tuple[int, int]]):
    """`{task: (bash passes, pwsh passes)}`: the first trials pass, the rest fail."""

    def passes(cell) -> bool:
        bash, pwsh = counts[cell.task]
        return cell.trial <= (bash if cell.shell == "bash" else pwsh)

    return passes


def level_but_for(tasks, *pairs: tuple[int, int]):
    """The first tasks as given, as (bash passes, pwsh passes), the others level at 3 of 5."""
    counts = {task.id: (3, 3) for task in tasks}
    return from_counts(counts | {task.id: pair for task, pair in zip(tasks, pairs, strict=False)})
