"""PowerShell's way into the image, tried with a stand-in archive: a `pwsh` that is a shell script.

It tests the plumbing alone: finding, keeping, building, labelling, starting. What PowerShell does
is tested where the image has the real one (marker `pwsh`).
"""

import io
import os
import re
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fluency.common.errors import SandboxError
from fluency.common.files import sha256_file
from fluency.execution import image, powershell
from fluency.execution.image import ensure_image, image_tag
from fluency.execution.powershell import powershell_source

STAND_IN = """#!/bin/sh
for command; do :; done
case "$command" in
    *PSVersionTable.PSVersion*) echo 7.6.99 ;;
esac
"""


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch) -> Path:
    """A cache of the test's own, and no archive given."""
    monkeypatch.setattr(powershell, "KEPT_FOLDER", tmp_path / "kept")
    monkeypatch.setattr(powershell, "ROOT", tmp_path / "project")
    monkeypatch.delenv(powershell.VARIABLE, raising=False)
    return tmp_path / "kept"


def archive(path: Path, script: str = STAND_IN, name: str = "./pwsh") -> Path:
    with tarfile.open(path, "w:gz") as opened:
        info = tarfile.TarInfo(name)
        info.size = len(script.encode())  # mode 0644, as in the official archive
        opened.addfile(info, io.BytesIO(script.encode()))
    return path


def test_powershell_source_is_kept(tmp_path, monkeypatch):
    assert powershell_source() is None, "without an archive it has no source"
    own, other = image_tag("pwsh"), image_tag("bash")
    given = archive(tmp_path / "given.tar.gz")
    monkeypatch.setenv(powershell.VARIABLE, str(given))
    source = powershell_source()
    assert source and powershell.archive_path(source).read_bytes() == given.read_bytes()
    assert powershell_source() == source
    given.unlink()
    monkeypatch.delenv(powershell.VARIABLE)
    assert powershell_source() == source, "it need be named once only"
    assert image_tag("pwsh") != own and image_tag("bash") == other
    monkeypatch.setenv(powershell.VARIABLE, str(archive(given, STAND_IN + "# newer\n")))
    assert powershell_source() != source


def test_powershell_source_damaged(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    whole = archive(tmp_path / "whole").read_bytes()
    damaged = {"cut": whole[:60], "text": b"no archive", "flipped": whole[:-8] + b"12345678"}
    for name, data in damaged.items():
        (tmp_path / name).write_bytes(data)
    archive(tmp_path / "other", name="bin/zsh")
    refused = dict.fromkeys([*damaged, "other"], "it is damaged or holds no pwsh")
    refused |= {"nowhere": "No such file or directory", "folder": "Is a directory"}
    for given, why in refused.items():
        monkeypatch.setenv(powershell.VARIABLE, str(tmp_path / given))
        with pytest.raises(SandboxError) as caught:
            powershell_source()
        assert caught.value.what == f"the PowerShell archive cannot be used: {why}"
        assert given in caught.value.where and caught.value.hint == powershell.install_hint()
    monkeypatch.delenv(powershell.VARIABLE)
    assert powershell_source() is None, "nothing of them is kept"


@pytest.mark.engine
def test_ensure_image_with_powershell(engine, tmp_path, monkeypatch, capsys):
    """Asked for twice at once, it is built once."""
    monkeypatch.setenv(powershell.VARIABLE, str(archive(tmp_path / "given.tar.gz")))
    with ThreadPoolExecutor(2) as pool:
        first, second = [pool.submit(ensure_image, engine, "pwsh") for _ in range(2)]
    info, said = first.result(), capsys.readouterr().err
    try:
        assert info == second.result() == ensure_image(engine, "pwsh")
        assert (
            said.count("building the sandbox image for PowerShell 7") == 1
            and "not the pinned release" in said
        )
        labels = engine.client().inspect_image(info.image_id)["Config"]["Labels"]
        checkout = labels[f"{image.LABEL}checkout"]
        assert checkout == image.CHECKOUT_ID and "/" not in checkout, "it names no path"
        assert info.shells["pwsh"] == "7.6.99" and image.why_missing(engine, info, "pwsh") is None
    finally:
        engine.client().remove_image(image_tag("pwsh"), force=True)


@pytest.mark.engine
def test_ensure_image_powershell_that_does_not_run(engine, tmp_path, monkeypatch):
    broken = archive(tmp_path / "given.tar.gz", "#!/bin/sh\necho wrong processor >&2; exit 126\n")
    monkeypatch.setenv(powershell.VARIABLE, str(broken))
    with pytest.raises(SandboxError, match="pwsh does not run in the image: wrong processor"):
        ensure_image(engine, "pwsh")


NAME = powershell.release_name()


def test_powershell_source_in_the_projects_folder(tmp_path, monkeypatch):
    assert len(set(powershell.pinned().values())) == 2 and NAME in powershell.install_hint()
    assert ("x64" if os.uname().machine == "x86_64" else "arm64") in NAME
    release = archive(tmp_path / NAME)
    held = {NAME: sha256_file(release)}
    monkeypatch.setattr(powershell, "pinned", lambda: held)
    (tmp_path / "project").mkdir()
    archive(tmp_path / "project" / NAME, "#!/bin/sh\n# another build\n")
    assert powershell.powershell_source() is None, "of another content it must be named"
    newer = archive(tmp_path / "project/powershell-99.0.0-linux-x64.tar.gz")
    assert powershell.powershell_source() is None
    (command,) = re.findall(r"`(.*?) make image`", powershell.install_hint())
    assert command == f"{powershell.VARIABLE}={newer.name}", "the hint says how it is taken"
    (tmp_path / "project" / NAME).write_bytes(release.read_bytes())
    assert powershell.powershell_source() == sha256_file(release)
