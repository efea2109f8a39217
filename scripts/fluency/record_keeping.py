"""The decision record as the command line and the Snakefile make it: pack, verify, replay, register, decide."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fluency.paths import ANSWERS, ARCHIVES, RESULTS, ROOT
from fluency.provenance import git_state

if TYPE_CHECKING:
    from fluency.pipeline import Pipeline


def utc_date() -> str:
    """Today in UTC, YYYY-MM-DD."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def archive_path(pipeline: Pipeline) -> str:
    """The archive rule's product: study, day and commit in its name."""
    from fluency.archive.pack import archive_name

    commit, dirty = git_state()
    name = archive_name(pipeline.study.study, utc_date(), commit or "nocommit", dirty=bool(dirty), partial=False)
    return str((ARCHIVES / name).relative_to(ROOT))


def pack(pipeline: Pipeline, *, partial: bool = False, image: bool = False) -> Path:
    """Write the archive of a study as it stands in results/."""
    from fluency.archive import make_archive

    commit, dirty = git_state()
    config_files = {f"config/{file.name}": file for file in pipeline.files[1:]}
    save = None
    if image:
        from fluency.sandbox import save_image

        save = save_image
    return make_archive(
        pipeline.study,
        pipeline.tasks,
        RESULTS,
        ANSWERS,
        ARCHIVES,
        commit=commit or "nocommit",
        dirty=bool(dirty),
        utc_date=utc_date(),
        partial=partial,
        image=image,
        extra_files=config_files,
        save_image=save,
    )
