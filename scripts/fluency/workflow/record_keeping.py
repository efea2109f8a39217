"""The decision record as the command line and the Snakefile make it: pack, verify, replay, register, decide."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fluency.common.clock import utc_now
from fluency.common.paths import ANSWERS, ARCHIVES, RESULTS, ROOT
from fluency.common.terminal import say
from fluency.core.gather import STAGES
from fluency.core.provenance import git_state

if TYPE_CHECKING:
    from fluency.workflow.pipeline import Pipeline


def utc_date() -> str:
    """Today in UTC, YYYY-MM-DD."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def archive_path(pipeline: Pipeline) -> str:
    """The archive rule's product: study, day and commit in its name."""
    from fluency.archive.pack import archive_name

    commit, dirty = git_state()
    name = archive_name(pipeline.study.study, utc_date(), commit or "nocommit", dirty=bool(dirty), partial=False)
    return str((ARCHIVES / name).relative_to(ROOT))


def logs_of(pipeline: Pipeline) -> list[Path]:
    """What the study's failed jobs left in the rules' logs, in the order of their names."""
    logs = [ROOT / "logs" / stage / f"{cell.path}.log" for stage in STAGES for cell in pipeline.cells]
    return sorted(file for file in [*logs, *(ROOT / "logs" / pipeline.study.study).glob("*.log")] if file.is_file())


def pack(pipeline: Pipeline, *, partial: bool = False, image: bool = False) -> Path:
    """Write the archive of a study as it stands in results/."""
    from fluency.archive.pack import make_archive

    commit, dirty = git_state()
    config_files = {f"config/{file.name}": file for file in pipeline.files[1:]}
    logs = {str(file.relative_to(ROOT)): file for file in logs_of(pipeline)}
    save = None
    if image:
        from fluency.execution.sandbox.image_export import save_image

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
        extra_files=config_files | logs,
        save_image=save,
    )


def verify(archive: Path) -> int:
    """Verify an archive and print what was found; 0 if nothing contradicts, 1 otherwise."""
    from fluency.archive.verify import verify_archive

    report = verify_archive(archive, say)
    print("\n".join(report.lines()))
    return 0 if report.ok else 1


def replay(archive: Path, stage: str) -> int:
    """Rescore or re-execute an archive with the present code and image, and print the differences."""
    from fluency.archive.replay import replay_archive

    sandbox = None
    if stage == "execute":
        from fluency.core.study import SandboxConfig
        from fluency.execution.sandbox.sandbox import open_sandbox

        sandbox = open_sandbox(SandboxConfig(), say=say)
    print(replay_archive(archive, stage, sandbox, say, utc=utc_now()).markdown())
    return 0


def preregister(pipeline: Pipeline, decision: str) -> int:
    """Freeze a study's design into a file to be committed, and say how the study names it."""
    from fluency.archive.registration import preregister as freeze

    path = freeze(pipeline.study, pipeline.tasks, decision or pipeline.study.decision, ROOT / "preregistrations")
    print(f"{path}\nCommit it, and put `preregistration: {path.relative_to(ROOT)}` into the study's file.")
    return 0


def decide(archive: Path, title: str) -> int:
    """Write a decision record that rests on a verified archive."""
    from fluency.archive.decision import write_decision

    print(write_decision(archive, title, ROOT / "decisions", say=say))
    return 0
