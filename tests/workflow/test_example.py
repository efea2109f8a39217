"""The example that README shows: its archive verifies, and its pages are what the present code writes from it."""

import re
import subprocess
import sys

import pytest

from fluency.common.paths import ROOT

EXAMPLE = ROOT / "example"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opened")
    (archive,) = EXAMPLE.glob("*.tar.zst")
    command = [sys.executable, "-m", "fluency.cli", "open", str(archive), "--into", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}, cwd=ROOT)
    return done, folder


def test_it_verifies_offline_and_opens(opened):
    done, folder = opened
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Evidence and scores are proven" in done.stdout and f"Explorer: {folder / 'explorer.html'}" in done.stdout


def test_readme_shows_its_pictures():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r'(?:src="|\]\()(example/[^")]+)', readme):
        assert (ROOT / name).is_file(), name
    assert all((EXAMPLE / name).read_bytes().startswith(PNG) for name in ("table.png", "cell.png"))


def test_an_altered_copy_is_not_opened(tmp_path):
    (archive,) = EXAMPLE.glob("*.tar.zst")
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / archive.name).write_bytes(data)
    command = [sys.executable, "-m", "fluency.cli", "open", str(tmp_path / archive.name), "--into", str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode in (1, 2) and not (tmp_path / "x").exists(), done.stdout + done.stderr
