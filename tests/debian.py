"""Programs from Debian's packages that a few tests run and nothing else needs."""

import os
import shutil
import subprocess

from fluency.common.paths import ROOT


def why_missing(programs, packages):
    """Why these programs cannot be had; None once they are there, installed where this may be."""
    if all(map(shutil.which, programs)):
        return None
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return f"{packages} are missing, and only root installs them, on Debian or Ubuntu"
    command = [ROOT / "scripts/apt_install.sh", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"apt-get cannot install {packages}: {done.stderr.strip()[-200:]}"
    return None
