"""A study that is finished and unchanged is known as such without starting Snakemake, which alone takes seconds."""

from __future__ import annotations

import json

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256, sha256_file, write_atomic
from fluency.common.paths import CACHE, RESULTS, ROOT
from fluency.workflow.ready_study import ReadyStudy
from fluency.workflow.rerun_keys import RerunKeys

FOLDER = CACHE / "finished"


def remember(ready: ReadyStudy, ending: str) -> None:
    """Note after a whole run how the study stood then, and what was said of it."""
    if (found := fingerprint(ready)) is not None:
        write_atomic(FOLDER / f"{ready.study.study}.json", json.dumps([found, ending]))


def recall(ready: ReadyStudy) -> str | None:
    """What was said at the end of the last run, if nothing has changed since; else None, and Snakemake decides."""
    try:
        known, ending = json.loads((FOLDER / f"{ready.study.study}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return None
    return str(ending) if known and known == fingerprint(ready) else None


def fingerprint(ready: ReadyStudy) -> str | None:
    """A hash over all that Snakemake would look at: every rule's param and code, and every file it would find.

    None if a file is missing.
    Of the products size and time stand in; a touched file costs one look by Snakemake and nothing else.
    """
    key = RerunKeys(ready.study, ready.tasks, ready.files, ready.prompt)
    folder = RESULTS / ready.study.study
    paths = [ROOT / path for path in ready.products()]
    paths += sorted(path for path in folder.rglob("*") if path.is_file())
    files = []
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            return None
        files.append([path.relative_to(ROOT).as_posix(), found.st_size, str(found.st_mtime_ns)])
    return sha256(
        canonical_json(
            {
                "cells": [[key.generate(cell), key.execute(cell), key.score(cell)] for cell in ready.cells],
                "study": [key.image(), key.control(), key.gather(), key.report()],
                "rules": sha256_file(ROOT / "Snakefile"),
                "files": files,
            }
        )
    )
