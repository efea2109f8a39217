"""The archive of a study as it stands in results/, under the name of its study, day and commit."""

from __future__ import annotations

from pathlib import Path

from fluency.archive.manifest import private_name
from fluency.archive.pack import make_archive
from fluency.common.clock import utc_date
from fluency.common.git import git_state
from fluency.common.paths import ANSWERS, ARCHIVES, RESULTS, ROOT
from fluency.common.terminal import log_line
from fluency.core.table import RECORD_TYPES
from fluency.execution.engine import ensure_engine
from fluency.execution.image import save_image
from fluency.workflow.ready_study import ReadyStudy
from fluency.workflow.signature import sign


def logs_of(ready: ReadyStudy) -> list[Path]:
    """What the study's failed jobs left in the rules' logs, in the order of their names."""
    logs = [ROOT / "logs" / stage / f"{cell.path}.log" for stage in RECORD_TYPES for cell in ready.cells]
    return sorted(file for file in [*logs, *(ROOT / "logs" / ready.study.study).glob("*.log")] if file.is_file())


def pack(
    ready: ReadyStudy,
    *,
    partial: bool = False,
    image: bool = False,
    with_private: bool = False,
    key: Path | None = None,
) -> Path:
    """Write the archive, signed if there is a key, and return its path; private tasks go into a file beside it."""
    commit, dirty = git_state()
    config_files = {f"config/{file.name}": file for file in ready.files[1:]}
    logs = {str(file.relative_to(ROOT)): file for file in logs_of(ready)}
    packed = make_archive(
        ready.study,
        ready.tasks,
        RESULTS,
        ANSWERS,
        ARCHIVES,
        commit=commit or "nocommit",
        dirty=bool(dirty),
        utc_date=utc_date(),
        partial=partial,
        image=image,
        with_private=with_private,
        extra_files=config_files | logs,
        save_image=lambda name, path: save_image(ensure_engine(), name, path),
    )
    part = packed.with_name(private_name(packed.name))
    if part.is_file():
        log_line(f"The private tasks stand in {part.name}: do not publish it.")
    if key:
        sign(packed, key.expanduser())
    return packed
