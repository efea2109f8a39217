"""The one script that runs before there is an environment says what it lacks, and touches nothing then."""

import os
import shutil
import subprocess

from fluency.common.paths import ROOT


def test_another_system_than_linux_is_named_at_once(tmp_path):
    (tmp_path / "scripts").mkdir()
    script = shutil.copy(ROOT / "scripts" / "bootstrap.sh", tmp_path / "scripts")
    other = tmp_path / "bin" / "uname"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho Darwin\n")
    other.chmod(0o755)
    path = f"{other.parent}:{os.environ['PATH']}"
    done = subprocess.run([script], capture_output=True, text=True, env=os.environ | {"PATH": path})
    assert done.returncode == 2
    assert done.stderr.startswith("Error: this runs on Linux, and here is Darwin\nHint: ")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bin", "scripts"]


def test_what_python_compiled_is_kept_whatever_the_shell_says():
    """Without it each of the test suite's hundreds of starts compiles Snakemake and pandas anew."""
    told = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    target = "told:; @echo $${PYTHONDONTWRITEBYTECODE-not set}"
    shown = subprocess.run(
        ["make", "--no-print-directory", "--eval", target, "told"], cwd=ROOT, env=told, capture_output=True, text=True
    )
    assert shown.stdout.strip() == "not set", shown.stderr
