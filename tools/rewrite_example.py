"""Write example/'s archive again in the present form, from its own answers.

`python -m tools.rewrite_example`, after a change of what an archive holds: nothing is measured
again. Every record says what it said, and so does the manifest of the commit, whose sandbox ran the
commands.

`python -m tools.rewrite_example --execute`, after a change of the sandbox or the tasks: the answers
are stored, and this checkout runs the study that asked for them. No model is asked.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from fluency.archive.archived_study import read_archived_study
from fluency.archive.manifest import MANIFEST_NAME, MANIFEST_SCHEMA, Manifest
from fluency.archive.pack import (
    README,
    README_FILE,
    STUDY_FILE,
    Source,
    pack_study,
    write_archive,
)
from fluency.archive.playback import play_generation
from fluency.archive.unpack import read_tar, unpacked
from fluency.archive.verify import verify_archive
from fluency.cli import exit_code_of
from fluency.common.errors import UserError
from fluency.common.files import pretty_json
from fluency.common.paths import ANSWERS
from fluency.core.loaded_study import LoadedStudy
from fluency.core.records import CONTROL_FILE
from fluency.core.table import RECORD_TYPES
from fluency.generation.store import AnswerStore
from fluency.workflow.preflight import estimate_of
from fluency.workflow.run import run_study
from tools.pages.example import archive

EVIDENCE = ("study.json", "tasks", "worlds", "sandbox", "envs", "prices", "preregistrations")
KEPT = (*EVIDENCE, *(f"results/{stage}" for stage in ("images", *RECORD_TYPES)))


def rewrite(path: Path) -> Path:
    """Write the archive again from its own records."""
    with path.open("rb") as raw:
        found = {name: b"".join(chunks) for name, _, chunks in read_tar(raw)}
    stated = json.loads(found[MANIFEST_NAME])
    facts = {key: stated[key] for key in Manifest.model_fields if key not in ("files", "sha256")}
    files: dict[str, Source] = {
        name: data
        for name, data in found.items()
        if any(f"{name}/".startswith(f"{kept}/") for kept in KEPT) or name.endswith(CONTROL_FILE)
    }
    for name in files:
        if kind := RECORD_TYPES.get(name.split("/")[1] if "/" in name else ""):
            record = kind.model_validate_json(found[name])
            files[name] = pretty_json(record.model_dump(mode="json")).encode()
    files[README_FILE] = README.encode()
    write_archive(path, files, facts | {"schema_version": MANIFEST_SCHEMA})
    return path


def execute(path: Path) -> Path:
    """Replace the archive by one of the same answers, whose commands ran in this sandbox."""
    with TemporaryDirectory() as folder, unpacked(path) as files:
        config = files.extracted([STUDY_FILE]) / STUDY_FILE
        archived, store = read_archived_study(files), AnswerStore(ANSWERS)
        for cell in archived.cells:
            if stored := archived.records(cell).generation:
                task = archived.task_of[cell.task]
                made = play_generation(archived.study, task, cell, stored, archived.world)
                store.put(made.answer)
        loaded = LoadedStudy(None, [str(shutil.copy(config, folder))])
        if calls := estimate_of(loaded).calls:
            raise UserError(f"{calls} of its answers are of other requests", where=str(path))
        if code := run_study(loaded):
            sys.exit(code)
        packed = pack_study(loaded, Path(folder))
        path.unlink()
        return Path(shutil.move(packed, path.with_name(packed.name)))


def main() -> int:
    """Rewrite the archive and verify it."""
    names = [name for name in sys.argv[1:] if name != "--execute"]
    path = Path(names[0]) if names else archive()
    report = verify_archive(execute(path) if "--execute" in sys.argv else rewrite(path))
    print(*report.lines(), sep="\n")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
