"""The example that README shows: its archive verifies, and its pages are what the present code writes from it."""

import re
import subprocess
import sys

from fluency.common.paths import ROOT

EXAMPLE = ROOT / "example"
PNG = b"\x89PNG\r\n\x1a\n"


def opened(archive, folder):
    command = [sys.executable, "-m", "fluency.cli", "open", str(archive), "--into", str(folder)]
    return subprocess.run(
        command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}, cwd=ROOT
    )


def test_it_verifies_offline_and_opens_and_an_altered_copy_does_not(tmp_path):
    (archive,), folder = EXAMPLE.glob("*.tar.zst"), tmp_path / "opened"
    done = opened(archive, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "Evidence and scores are proven" in done.stdout
        and f"Explorer: {folder / 'explorer.html'}" in done.stdout
    )
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / archive.name).write_bytes(data)
    done = opened(tmp_path / archive.name, tmp_path / "x")
    assert done.returncode in (1, 2) and not (tmp_path / "x").exists(), done.stdout + done.stderr


def test_readme_shows_its_pictures():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r'(?:src="|\]\()(example/[^")]+)', readme):
        assert (ROOT / name).is_file(), name
    assert all((EXAMPLE / name).read_bytes().startswith(PNG) for name in ("table.png", "cell.png"))
