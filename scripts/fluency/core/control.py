"""The control of a study: commands that no model wrote, known to be right or wrong, judged like every answer."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from fluency.core.part import Part
from fluency.core.records import SCHEMA_VERSION, ImageInfo, SchemaVersion, read_record
from fluency.core.shells import SHELLS, ShellName

CONTROL_FILE = "control.json"


class ControlRun(Part):
    """One command of a task, run in every world of the study."""

    task: str
    shell: ShellName
    kind: Literal["reference", "wrong"]
    command: str
    passed: bool = Field(description="In every world.")
    why: str = Field(description="The first world's finding that decided it.")

    @property
    def as_it_must(self) -> bool:
        """A reference passes, a wrong command does not."""
        return self.passed == (self.kind == "reference")


class Control(Part):
    """`results/<study>/control.json`: every task's first reference and first wrong command in each shell there is."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    image: ImageInfo
    runs: list[ControlRun]
    not_measured: dict[str, str] = Field(description="Shell -> why none of its commands could run.")

    def shells(self) -> list[str]:
        """The shells it was to run in, in the order of reports."""
        return [name for name in SHELLS if self.of(name, "reference") or name in self.not_measured]

    def of(self, shell: str, kind: str) -> list[ControlRun]:
        """The runs of one shell and kind, in the order of tasks."""
        return [run for run in self.runs if (run.shell, run.kind) == (shell, kind)]


def read_control(folder: Path) -> Control | None:
    """The control among a study's results; None if it has none, UserError if it cannot be read."""
    path = folder / CONTROL_FILE
    return read_record(Control, path) if path.is_file() else None
