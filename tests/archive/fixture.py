"""Make the archive that every later version must still read: `python -m tests.archive.fixture`.

It is committed once for each schema version and never made anew for the same one. Its worlds are small ones of
its own, so that the file stays small; the manifest says so, and verification calls them unproven.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

from fluency.archive import manifest, registration
from fluency.archive.contents import coverage_of, entries_of
from fluency.archive.design import design
from fluency.archive.naming import archive_name
from fluency.archive.pack import manifest_fields, write_entries
from fluency.common.files import sha256
from fluency.common.paths import ROOT
from fluency.core.tasks import Task, load_tasks
from fluency.generation.store import AnswerStore
from fluency.world import Builder, World
from tests.archive.factory import FACTS, make, make_study

FOLDER = Path(__file__).parents[1] / "data" / "archives"
TASKS = ("crates-without-readme", "stale-lockfiles")


def small_world(task: Task, seed: int) -> World:
    """A workspace of three or four crates."""
    return _small_world(seed)


@cache
def _small_world(seed: int) -> World:
    builder = Builder(seed)
    for number, name in enumerate(("vox-cli", "vox-db", "vox-eval", "workspace-hack")[: 3 + seed % 2]):
        builder.file(
            f"crates/{name}/Cargo.toml", f'[package]\nname = "{name}"\nversion = "0.{seed}.{number}"\n', age_days=3
        )
        builder.file(f"crates/{name}/Cargo.lock", "version = 4\n", age_days=2 if number == 1 else 10)
        if number != 2:
            builder.file(f"crates/{name}/README.md", f"# {name}\n")
    builder.route("/healthz", 204, {"X-Seed": str(seed)})
    return builder.finish()


def build(out: Path) -> Path:
    """Write the fixture into a folder: a registered study, with a whole float among what it sends."""
    draft = make_study(TASKS, trials=1, study="registered", decision="which shell our prompts name")
    hot = draft.models[0].model_copy(update={"temperature": 1.0})
    registered = ROOT / "preregistrations" / "registered-2026-11-01.json"
    study = draft.model_copy(update={"models": [hot], "preregistration": registered.relative_to(ROOT).as_posix()})
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(registration, "design", lambda study, tasks, _=None: design(study, tasks, small_world)),
    ):
        try:
            registration.preregister(
                study, load_tasks(TASKS), study.decision, registered.parent, utc="2026-11-01T00:00:00Z"
            )
            made = make(Path(folder), study, worlds=small_world)
            coverage = coverage_of(made.study, made.tasks, made.results)
            store = AnswerStore(made.answers)
            entries = entries_of(made.study, made.tasks, made.results, store.path, small_world, {})
            fields = manifest_fields(made.study, coverage, image=False, **FACTS)
            fields["code"] = {**fields["code"], "worlds": sha256("tests/archive/fixture.py")}
            name = archive_name(study.study, FACTS["utc_date"], FACTS["commit"], dirty=False, partial=False)
            target = out / f"schema-{manifest.SCHEMA_VERSION}-{name}"
            write_entries(target, entries, fields)
        finally:
            registered.unlink(missing_ok=True)
    return target


if __name__ == "__main__":
    path = build(FOLDER)
    print(path, path.stat().st_size, sha256(path.read_bytes()))
