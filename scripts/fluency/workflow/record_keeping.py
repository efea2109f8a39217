"""The decision record as the command line makes it: register, verify, replay, decide."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fluency.archive.decision import write_decision
from fluency.archive.registration import preregister as freeze
from fluency.archive.replay import replay_archive
from fluency.archive.verify import verify_archive
from fluency.common.clock import utc_now
from fluency.common.paths import ROOT
from fluency.common.terminal import say
from fluency.core.study import SandboxConfig
from fluency.execution.sandbox.sandbox import open_sandbox
from fluency.workflow.ready_study import ReadyStudy


def verify(archive: Path) -> int:
    """Verify an archive and print what was found; 0 if nothing contradicts, 1 otherwise."""
    report = verify_archive(archive, say)
    print("\n".join(report.lines()))
    return 0 if report.ok else 1


def replay(archive: Path, stage: Literal["score", "execute"]) -> int:
    """Rescore or re-execute an archive with the present code and image, and print the differences."""
    sandbox = open_sandbox(SandboxConfig(), say=say) if stage == "execute" else None
    print(replay_archive(archive, stage, sandbox, say, utc=utc_now()).markdown())
    return 0


def preregister(ready: ReadyStudy, decision: str) -> int:
    """Freeze a study's design into a file to be committed, and say how the study names it."""
    path = freeze(ready.study, ready.tasks, decision or ready.study.decision, ROOT / "preregistrations")
    print(f"{path}\nCommit it, and put `preregistration: {path.relative_to(ROOT)}` into the study's file.")
    return 0


def decide(archive: Path, title: str) -> int:
    """Write a decision record that rests on a verified archive."""
    print(write_decision(archive, title, ROOT / "decisions", say=say))
    return 0
