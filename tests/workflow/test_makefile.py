"""What `make` itself does: the targets that call no command of ours."""

import shutil
import subprocess

from fluency.common.paths import ROOT

KEPT = {"Makefile", "answers/1.json", "archive/1.tar.zst", "preregistrations/1.json"}
REMOVED = {"results/images/bash.json", "logs/1.log", ".snakemake/1", "site/1.html"}


def test_clean_keeps_answers_archives_and_registrations(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (KEPT | REMOVED) - {"Makefile"}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True)
    left = (path for path in tmp_path.rglob("*") if path.is_file())
    assert {str(path.relative_to(tmp_path)) for path in left} == KEPT


def test_environment_of_a_moved_folder_is_made_again(tmp_path):
    """Its programs name the folder that they were made in."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    marker = tmp_path / ".venv/.requirements"
    marker.parent.mkdir()
    for made_in, removed in ((tmp_path, False), (tmp_path / "earlier", True)):
        marker.write_text(f"{made_in}\n")
        printed = subprocess.check_output(["make", "-nk", "moved"], cwd=tmp_path, text=True)
        known = subprocess.check_output(["make", "-pnk", "help"], cwd=tmp_path, text=True)
        assert ("\nMOVED := moved\n" in known) == removed and "rm -rf .venv" in printed
