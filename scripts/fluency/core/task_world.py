"""The world a task runs in: the base world of a seed, extended by the task's fixture if any."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from fluency.common.errors import UserError
from fluency.common.files import sha256_file
from fluency.core.records import ProcessFact
from fluency.core.tasks import PARITIES, Task, author_code, run_python_file
from fluency.world import Builder, HelperSpec, World, WorldError, build_world

WorldFor = Callable[[Task, int], World]
"""Gives the world of a task and a seed."""
PLAIN_NAME, LONGEST = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*"), 80
SNAPSHOT_FILES = (
    "a snapshot has plain files, named by ASCII letters, digits, `_`, `-` and later full stops, "
    f"with paths of less than {LONGEST} characters: what an archive holds"
)


def world_for(task: Task, seed: int) -> World:
    """UserError for a `fixture.py` that raises, and for files that a world cannot have."""
    if task.is_snapshot:
        return _snapshot(task, seed)
    fixture = task.folder / "fixture.py"
    if not fixture.is_file():
        return build_world(seed)
    return _extended(task.id, fixture, sha256_file(fixture), seed)


def _snapshot(task: Task, seed: int) -> World:
    """The world of exactly the files that the task has for this parity of seeds."""
    builder = Builder(World(seed), task.id)
    folder = task.folder / f"world-{PARITIES[seed % 2]}"
    with author_code(folder, seed, "a world of plain files"):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            plain = PLAIN_NAME.fullmatch(path.name) and not path.is_symlink()
            builder.require(bool(plain) and len(name) < LONGEST, f"{name}: {SNAPSHOT_FILES}")
            if path.is_file():
                data = path.read_bytes()
                builder.file(name, data, age_days=10, crlf=b"\r\n" in data)
        return builder.finish()


@lru_cache(maxsize=256)
def _extended(task_id: str, fixture: Path, _content: str, seed: int) -> World:
    builder = Builder(build_world(seed), task_id)
    with author_code(fixture, seed, "extend(builder, rng)"):
        run_python_file(fixture).extend(builder, builder.rng)
        return builder.finish()


RUNNER_PID = 1


def planned_processes(world: World) -> list[ProcessFact]:
    """The facts of the helpers that stay running.

    Their process ids are invented, in the order of the world's plan.
    """
    helpers = {helper.key: helper for helper in world.processes}
    pids = {key: 41 + 3 * number for number, key in enumerate(helpers)}

    def above(helper: HelperSpec) -> list[HelperSpec]:
        return [helpers[helper.parent], *above(helpers[helper.parent])] if helper.parent else []

    def fact(helper: HelperSpec) -> ProcessFact:
        ancestors = above(helper)
        starters = [*(pids[one.key] for one in ancestors), RUNNER_PID, RUNNER_PID]
        # Whose starter has ended belongs to the next subreaper above.
        adopters = (one for one in ancestors if one is ancestors[0] or one.subreaper)
        parent = next((pids[one.key] for one in adopters if not one.ends), RUNNER_PID)
        ids = {"%P": str(starters[0]), "%PP": str(starters[1])}
        leader = next(one for one in (helper, *ancestors) if one.own_session or one.parent is None)
        return ProcessFact(
            pid=pids[helper.key],
            name=helper.name,
            ppid=parent,
            rss_bytes=helper.rss_mb * 1024 * 1024,
            args=[ids.get(arg, arg) for arg in helper.args],
            threads=1 + len(helper.threads),
            session=pids[leader.key],
        )

    return [fact(helper) for helper in world.processes if not helper.ends]


def expected_in(task: Task, seed: int) -> Any:
    """The right answer in the world of a seed, with the processes that it plans."""
    return task.expected(*planned(task, seed))


def planned(task: Task, seed: int) -> tuple[World, Sequence[ProcessFact]]:
    """The world of a seed, and the processes that it plans if the task needs them."""
    world = world_for(task, seed)
    return world, planned_processes(world) if "processes" in task.needs else ()


def check_world_pair(seeds: Sequence[int], tasks: Sequence[Task]) -> None:
    """UserError without an odd and an even seed; WorldError if two such worlds share an answer."""
    if {seed % 2 for seed in seeds} != {0, 1}:
        raise UserError(
            "worlds must form pairs of an odd and an even seed",
            where=f"seeds: {', '.join(map(str, seeds))}",
            hint="write one odd and one even seed, for example 11 and 24",
        )
    for task in tasks:
        seen: dict[str, int] = {}
        for seed in seeds:
            asked = repr([ask(*planned(task, seed)) for ask in (task.expected, task.state)])
            twin = seen.setdefault(asked, seed)
            if twin % 2 != seed % 2:
                raise WorldError(seed, f"{task.id} has the same answer as in world {twin}")
