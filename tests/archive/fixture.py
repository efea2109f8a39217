"""Make the archive that every later version must still read: `python -m tests.archive.fixture`.

It is committed once for each schema version and never made anew for the same one. Its worlds are small ones of
its own, so that the file stays small; the manifest says so, and verification calls them unproven.
"""

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

from fluency.archive import manifest, registration
from fluency.archive.crate import CRATE_FILE, crate_bytes
from fluency.archive.manifest import archive_name, private_archive_name
from fluency.archive.pack import (
    Coverage,
    archive_entries,
    config_names,
    manifest_fields,
    write_entries,
)
from fluency.archive.private_part import HELD_OUT, hidden_file_names, hidden_tasks_json
from fluency.archive.registration import design
from fluency.archive.tar_format import Entry
from fluency.common.files import sha256
from fluency.common.paths import ROOT
from fluency.core.tasks import Task, load_tasks
from fluency.generation.store import AnswerStore
from fluency.world import Builder, World
from tests.archive.factory import FACTS, make, make_study

FOLDER = Path(__file__).parents[1] / "data" / "archives"
TASKS = ("crates-without-readme", "hidden-lockfiles")


def small_world(task: Task, seed: int) -> World:
    return _small_world(seed)


@cache
def _small_world(seed: int) -> World:
    builder = Builder(seed)
    for number, name in enumerate(
        ("vox-cli", "vox-db", "vox-eval", "workspace-hack")[: 3 + seed % 2]
    ):
        builder.file(
            f"crates/{name}/Cargo.toml",
            f'[package]\nname = "{name}"\nversion = "0.{seed}.{number}"\n',
            age_days=3,
        )
        builder.file(
            f"crates/{name}/Cargo.lock", "version = 4\n", age_days=2 if number == 1 else 10
        )
        if number != 2:
            builder.file(f"crates/{name}/README.md", f"# {name}\n")
    builder.route("/healthz", 204, {"X-Seed": str(seed)})
    return builder.finish()


def build(out: Path) -> Path:
    """Write the fixture into a folder: a registered study of an open and a private task, and its private part beside it.

    A whole float stands among what it sends.
    """
    registered = ROOT / "preregistrations" / "registered-2026-11-01.json"
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, TASKS_PRIVATE=str(private_bank(Path(folder) / "private"))),
        patch.object(
            registration, "design", lambda study, tasks, _=None: design(study, tasks, small_world)
        ),
    ):
        draft = make_study(
            TASKS, trials=1, study="registered", decision="which shell our prompts name"
        )
        hot = draft.models[0].model_copy(update={"temperature": 1.0})
        study = draft.model_copy(
            update={"models": [hot], "preregistration": registered.relative_to(ROOT).as_posix()}
        )
        tasks = load_tasks(TASKS)
        try:
            registration.preregister(
                study, tasks, study.decision, registered.parent, utc="2026-11-01T00:00:00Z"
            )
            made = make(Path(folder), study, worlds=small_world)
            view, store = made.view(), AnswerStore(made.answers)
            coverage, config = Coverage(view.rows()), made.config()
            config_files = dict(zip(config_names(study, config), config, strict=True))
            entries, public = (
                archive_entries(view, chosen, made.results, store, small_world, config_files)
                for chosen in (tasks, tasks[:1])
            )
            fields = manifest_fields(study, coverage, list(config_files), **FACTS)
            fields["code"] = {**fields["code"], "score": sha256("tests/archive/fixture.py")}
            held = hidden_tasks_json(tasks[1:], study, coverage.rows, small_world)
            names = hidden_file_names(entries, {*public})
            entries[HELD_OUT] = Entry(HELD_OUT, held)
            entries[CRATE_FILE] = Entry(CRATE_FILE, crate_bytes(study, fields, entries))
            name = archive_name(
                study.study, FACTS["utc_date"], FACTS["commit"], dirty=False, partial=False
            )
            target = out / f"schema-{manifest.SCHEMA_VERSION}-{name}"
            write_entries(target, entries, fields, names)
            target.with_name(private_archive_name(target.name)).rename(part_of(target))
        finally:
            registered.unlink(missing_ok=True)
    return target


def private_bank(folder: Path) -> Path:
    """A folder of private tasks with one task, which is one of the project's under another id."""
    task = folder / TASKS[1]
    shutil.copytree(
        ROOT / "tasks" / "stale-lockfiles", task, ignore=shutil.ignore_patterns("__pycache__")
    )
    text = (task / "task.yaml").read_text(encoding="utf-8")
    (task / "task.yaml").write_text(
        text.replace("id: stale-lockfiles", f"id: {TASKS[1]}\nprivate: true", 1)
    )
    return folder


def part_of(archive: Path) -> Path:
    return archive.with_name(f"private-part-of-{archive.name}")


if __name__ == "__main__":
    path = build(FOLDER)
    print(path, path.stat().st_size, sha256(path.read_bytes()))
