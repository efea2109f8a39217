"""PowerShell's release where its page cannot be reached: from a mirror or beside the Makefile, with the pinned hash only.

The archive is a stand-in whose hash stands in for the pinned one; the server is real.
"""

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fluency.common.errors import SandboxError
from fluency.common.files import sha256_file
from fluency.execution import powershell
from tests.execution.test_powershell import archive

NAME = powershell.release_name()


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(powershell, "KEPT_FOLDER", tmp_path / "kept")
    monkeypatch.setattr(powershell, "ROOT", tmp_path / "beside")
    for variable in (powershell.VARIABLE, powershell.MIRROR):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def release(tmp_path, monkeypatch) -> Path:
    (tmp_path / "mirror").mkdir()
    path = archive(tmp_path / "mirror" / NAME)
    held = {NAME: sha256_file(path)}
    monkeypatch.setattr(powershell, "pinned", lambda: held)
    return path


@pytest.fixture
def mirror(release) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(release.parent))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("form", ["{}", "{}/", "{}/" + NAME])
def test_a_mirror_gives_the_pinned_release_once(mirror, release, monkeypatch, form):
    monkeypatch.setenv(powershell.MIRROR, form.format(mirror))
    source = powershell.powershell_source()
    assert source == sha256_file(release)
    release.unlink()
    assert powershell.powershell_source() == source, "it is kept, and not fetched again"
    assert {path.name for path in powershell.KEPT_FOLDER.iterdir()} == {"current", f"{source}.tar.gz"}


def test_a_mirror_with_another_content_is_refused_and_leaves_nothing(mirror, release, monkeypatch):
    archive(release, "#!/bin/sh\n# another build\n")
    monkeypatch.setenv(powershell.MIRROR, mirror)
    with pytest.raises(SandboxError, match="SHA256 hash of downloaded file"):
        powershell.powershell_source()
    assert not any(powershell.KEPT_FOLDER.iterdir())


def test_a_mirror_that_does_not_give_it_is_told_in_a_sentence(mirror, release, monkeypatch):
    for given, says in ((f"{mirror}/nowhere", "404"), ("http://127.0.0.1:9", "refused"), ("no-address", "protocol")):
        monkeypatch.setenv(powershell.MIRROR, given)
        with pytest.raises(SandboxError) as caught:
            powershell.powershell_source()
        assert says in str(caught.value) and given in caught.value.where and NAME in caught.value.hint


def test_the_release_is_found_where_it_lies(release, tmp_path):
    assert powershell.powershell_source() is None
    (tmp_path / "beside").mkdir()
    archive(tmp_path / "beside" / NAME, "#!/bin/sh\n# another build\n")
    assert powershell.powershell_source() is None, "of another content it must be named"
    (tmp_path / "beside" / NAME).write_bytes(release.read_bytes())
    assert powershell.powershell_source() == sha256_file(release)


def test_both_processors_are_pinned_and_the_advice_names_this_ones():
    assert len(powershell.pinned()) == len(set(powershell.pinned().values())) == 2
    assert ("x64" if os.uname().machine == "x86_64" else "arm64") in NAME and NAME in powershell.INSTALL_HINT
