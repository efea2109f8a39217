"""The decision record as the command line makes it: register, verify, replay, decide."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from fluency.archive.decision import write_decision
from fluency.archive.findings import EXIT_CODES
from fluency.archive.registration import preregister as freeze
from fluency.archive.registration import read_registration
from fluency.archive.replay import replay_archive
from fluency.archive.verify import verify_archive
from fluency.common.clock import utc_now
from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.common.terminal import log_line, print_lines
from fluency.core.study import SandboxConfig
from fluency.execution.sandbox import open_sandbox
from fluency.workflow.ready_study import ReadyStudy
from fluency.workflow.signature import signer_of
from fluency.workflow.verify_beside import next_step, verify_beside

_REGISTERED = """{path}
Put this into the study's file:
  preregistration: {name}
  decision: {decision}
A clock can be set. Who doubts the order believes a third party, so leave one a trace before the first answer:
  git add {name} && git commit -m "Register {name}" && git push
  openssl ts -query -data {name} -sha256 -cert -out {name}.tsq
  curl -H "Content-Type: application/timestamp-query" --data-binary @{name}.tsq -o {name}.tsr "$TSA"
The last two keep an answer by RFC 3161 of the time-stamping service whose address is in $TSA."""


def verify(archive: Path, beside: bool = False, signers: Path | None = None, private: Path | None = None) -> int:
    """Verify an archive and print what was found; 0: proven, 1: altered, 3: not proven by this checkout.

    With `beside` the code of the commit that the archive names verifies it, in a checkout of its own.
    With `signers` it must also be signed by one of them, as it is. `private` is the part that holds its private tasks.
    """
    if beside and private:
        hint = "leave BESIDE=1 out, or check that commit out and verify both parts there"
        raise UserError("a private part is not verified beside", where=str(private), hint=hint)
    if signers:
        if (signer := signer_of(archive, signers.expanduser())) is None:
            print_lines([f"PROBLEM {archive.name}: it is signed by none of the allowed signers as it is"])
            return EXIT_CODES["altered"]
        print_lines([f"signed by {signer}"])
    if beside:
        return verify_beside(archive)
    report = verify_archive(archive, private=private)
    print_lines(report.lines())
    if report.verdict() == "unproven":
        print_lines([next_step(report)])
    return report.exit_code


def replay(
    archive: Path, stage: Literal["score", "execute"], allowed: Collection[str] = (), markdown: Path | None = None
) -> int:
    """Rescore or re-execute an archive with the present code and image; print the differences, and write them."""
    sandbox = open_sandbox(SandboxConfig()) if stage == "execute" else None
    found = replay_archive(archive, stage, sandbox, utc=utc_now(), allowed=allowed)
    print_lines(found.lines())
    if markdown:
        write_atomic(markdown, found.markdown())
        log_line(f"written to {markdown}")
    return 0


def preregister(ready: ReadyStudy, decision: str) -> int:
    """Freeze a study's design into a file to be committed, and say how the study names it."""
    path = freeze(ready.study, ready.tasks, decision or ready.study.decision, ROOT / "preregistrations")
    frozen, name = read_registration(path), path.relative_to(ROOT)
    text = _REGISTERED.format(name=name, decision=json.dumps(frozen["decision"], ensure_ascii=False), path=path)
    print_lines(text.split("\n"))
    if frozen["commit"] is None or frozen["dirty"]:
        print("Mind: no commit holds the code it was made by; commit your changes before you register.")
    return 0


def decide(archive: Path, title: str) -> int:
    """Write a decision record that rests on a verified archive."""
    print_lines([str(write_decision(archive, title, ROOT / "docs" / "decisions"))])
    return 0
