"""PowerShell's way into the image, tried with a stand-in archive: a `pwsh` that is a shell script.

It tests the plumbing alone: finding, keeping, building, labelling, starting. What PowerShell does
is tested where the image has the real one (marker `pwsh`).
"""

import io
import os
import re
import tarfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from fluency.common.errors import SandboxError
from fluency.common.files import sha256_file
from fluency.core.shells import SHELLS
from fluency.execution import archives, image
from fluency.execution.archives import archive_for, archive_path, install_hint
from fluency.execution.image import ensure_image, image_tag

RELEASE = SHELLS["pwsh"].install.archive
assert RELEASE
VARIABLE = RELEASE.variable
STAND_IN = """#!/bin/sh
for command; do :; done
case "$command" in
    *PSVersionTable.PSVersion*) echo 7.6.99 ;;
esac
"""


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """A cache of the test's own, and no archive given."""
    monkeypatch.setattr(archives, "KEPT_FOLDER", tmp_path / "kept")
    monkeypatch.setattr(archives, "ROOT", tmp_path / "project")
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path / "kept"


def archive(path, script=STAND_IN, name="./pwsh"):
    with tarfile.open(path, "w:gz") as opened:
        info = tarfile.TarInfo(name)
        info.size = len(script.encode())  # mode 0644, as in the official archive
        opened.addfile(info, io.BytesIO(script.encode()))
    return path


def test_archive_for_pwsh_is_kept(tmp_path, monkeypatch):
    assert archive_for("pwsh") is None, "without an archive it has no source"
    own, other = image_tag("pwsh"), image_tag("bash")
    given = archive(tmp_path / "given.tar.gz")
    monkeypatch.setenv(VARIABLE, str(given))
    source = archive_for("pwsh")
    assert source and archive_path(source).read_bytes() == given.read_bytes()
    assert archive_for("pwsh") == source
    given.unlink()
    monkeypatch.delenv(VARIABLE)
    assert archive_for("pwsh") == source, "it need be named once only"
    assert image_tag("pwsh") != own and image_tag("bash") == other
    monkeypatch.setenv(VARIABLE, str(archive(given, STAND_IN + "# newer\n")))
    assert archive_for("pwsh") != source


def test_unpack_program_writes_plain_files_beside_it_alone(tmp_path, monkeypatch):
    """On Debian 12's Python, too, whose `extractall` takes no filter."""
    with tarfile.open(tmp_path / "given", "w:gz") as opened:
        for name in ("./a/bin/pwsh", "./a/bin/lib/one.so", "./a/bin/../../../out", "./other"):
            info = tarfile.TarInfo(name)
            info.size = 1
            opened.addfile(info, io.BytesIO(b"x"))
        info = tarfile.TarInfo("./a/bin/link")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        opened.addfile(info)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "given"))
    archives.unpack_program(RELEASE, archive_for("pwsh"), tmp_path / "program")
    made = {
        str(path.relative_to(tmp_path / "program")): path.stat().st_mode & 0o777
        for path in (tmp_path / "program").rglob("*")
    }
    assert made == {"pwsh": 0o755, "lib": 0o755, "lib/one.so": 0o644}
    assert not list(tmp_path.rglob("out"))


def test_archive_for_pwsh_damaged(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    whole = archive(tmp_path / "whole").read_bytes()
    damaged = {"cut": whole[:60], "text": b"no archive", "flipped": whole[:-8] + b"12345678"}
    for name, data in damaged.items():
        (tmp_path / name).write_bytes(data)
    archive(tmp_path / "other", name="bin/zsh")
    refused = dict.fromkeys([*damaged, "other"], "it is damaged or holds no pwsh")
    refused |= {"nowhere": "No such file or directory", "folder": "Is a directory"}
    for given, why in refused.items():
        monkeypatch.setenv(VARIABLE, str(tmp_path / given))
        with pytest.raises(SandboxError) as caught:
            archive_for("pwsh")
        assert caught.value.what == f"the PowerShell archive cannot be used: {why}"
        assert given in caught.value.where and caught.value.hint == install_hint("pwsh")
    monkeypatch.delenv(VARIABLE)
    assert archive_for("pwsh") is None, "nothing of them is kept"


@pytest.mark.engine
def test_ensure_image_with_powershell(engine, tmp_path, monkeypatch, capsys):
    """Asked for twice at once, it is built once."""
    monkeypatch.setenv(VARIABLE, str(archive(tmp_path / "given.tar.gz")))
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
    monkeypatch.setenv(VARIABLE, str(broken))
    with pytest.raises(SandboxError, match="pwsh does not run in the image: wrong processor"):
        ensure_image(engine, "pwsh")


NAME = archives.file_name(RELEASE)


def test_archive_for_pwsh_in_the_projects_folder(tmp_path, monkeypatch):
    assert len(set(RELEASE.sha256.values())) == 2 and NAME in install_hint("pwsh")
    assert ("x64" if os.uname().machine == "x86_64" else "arm64") in NAME
    release = archive(tmp_path / NAME)
    pinned = RELEASE.model_copy(
        update={"sha256": {archives.architecture_of(): sha256_file(release)}}
    )
    install = SHELLS["pwsh"].install.model_copy(update={"archive": pinned})
    monkeypatch.setitem(SHELLS, "pwsh", SHELLS["pwsh"].model_copy(update={"install": install}))
    (tmp_path / "project").mkdir()
    archive(tmp_path / "project" / NAME, "#!/bin/sh\n# another build\n")
    assert archive_for("pwsh") is None, "of another content it must be named"
    newer = archive(tmp_path / "project" / "powershell-99.0.0-linux-x64.tar.gz")
    assert archive_for("pwsh") is None
    (command,) = re.findall(r"`(.*?) make image`", install_hint("pwsh"))
    assert command == f"{VARIABLE}={newer.name}", "the hint says how it is taken"
    (tmp_path / "project" / NAME).write_bytes(release.read_bytes())
    assert archive_for("pwsh") == sha256_file(release)
