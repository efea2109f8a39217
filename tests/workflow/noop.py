"""A project whose sandbox runs nothing, so that the rest of a job's time is the harness's own."""

from fluency.common.paths import ROOT
from fluency.core.records import ImageInfo, Result, Stream
from fluency.core.shells import SHELLS
from fluency.core.tasks import load_tasks
from fluency.execution.protocol import Invocation
from tests.workflow.project import Project


class NoSandbox:
    images = dict.fromkeys(
        SHELLS,
        ImageInfo(
            image_id="none",
            content_sha256="0" * 64,
            base="none",
            architecture="none",
            shells=dict.fromkeys(SHELLS, "none"),
            packages_sha256="0" * 64,
        ),
    )

    def __init__(self, *_, **__) -> None:
        self.engine: dict[str, object] = {}

    def run(self, _: Invocation) -> Result:
        return Result(exit_code=0, stdout=Stream.of(b""), stderr=Stream.of(b""), wall_s=0.0)

    def why_missing(self, _) -> None:
        """It has every shell."""


def noop_project(root, models, cells) -> Project:
    """A project of `cells` cells a model, of tasks without processes, since none are started."""
    project = Project.make(root, models=models)
    static = [task.id for task in load_tasks() if not task.needs]
    trials = 5 if cells >= 10 else 1
    project.configure(tasks=static[: cells // (2 * trials)], trials=trials)
    for part in ("tools", "tests"):
        (project.root / part).symlink_to(ROOT / part)
    return project


def noop_run(project: Project, target) -> list[str]:
    """The command line of a run with the sandbox that runs nothing."""
    return project.command(
        "--snakefile", "tests/workflow/noop.smk", "--workflow-profile", "profiles/default", target
    )
