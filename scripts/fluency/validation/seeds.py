"""Commit to the seeds of a study's worlds before it runs, and reveal them afterwards."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.common.terminal import print_lines
from fluency.core.config_files import read_yaml
from fluency.core.study import STUDY_NAME, seed_commitment
from fluency.core.task_world import check_world_pair
from fluency.core.tasks import load_tasks

FOLDER = ROOT / "sealed"
"""Out of version control: a reader of it knows the worlds."""
_BITS = 31
_COMMITTED = """{path}
Keep this file to yourself until the study has run, and keep a copy: without it the commitment cannot be opened.
Put this into the study's file, and register it:
  seeds: {seal}"""
_REVEALED = """They open {seal}
Put this into the study's file in place of the commitment:
  seeds: {seeds}
  seeds_salt: {salt}"""


def commit(study: str, folder: Path = FOLDER) -> Path:
    """Draw an odd and an even seed and a salt, keep them in `<folder>/<study>.yaml`, and print the commitment.

    UserError for a name that no study has, and where there is such a file: a commitment is not drawn until it fits.
    """
    if not re.fullmatch(STUDY_NAME, study):
        raise UserError(
            "this is no study's name", where=f"STUDY={study}", hint="write STUDY=my-study"
        )
    path = folder / f"{study}.yaml"
    if path.exists():
        raise UserError(
            "this study has its seeds already",
            where=str(path),
            hint="reveal them, or name another study",
        )
    low = secrets.randbits(_BITS) | 1
    seeds, salt = [low, secrets.randbits(_BITS) & ~1], secrets.token_hex(32)
    check_world_pair(seeds, load_tasks())
    write_atomic(path, f"seeds: {seeds}\nseeds_salt: {salt}\n")
    path.chmod(0o600)
    print_lines(_COMMITTED.format(path=path, seal=seed_commitment(seeds, salt)).split("\n"))
    return path


def reveal(path: Path) -> str:
    """Print what opens the commitment, and return the commitment; UserError if the file holds no sealed seeds."""
    kept = read_yaml(path)
    seeds, salt = kept.get("seeds"), kept.get("seeds_salt")
    if (
        not isinstance(seeds, list)
        or not all(type(seed) is int for seed in seeds)
        or not isinstance(salt, str)
    ):
        raise UserError(
            "this file holds no sealed seeds", where=str(path), hint="name a file of sealed/"
        )
    check_world_pair(seeds, [])
    found = seed_commitment(seeds, salt)
    print_lines(_REVEALED.format(seal=found, seeds=seeds, salt=salt).split("\n"))
    return found
