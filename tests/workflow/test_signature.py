"""An archive's signature is its maker's, for these bytes and this purpose, by OpenSSH itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fluency.common.errors import UserError
from fluency.workflow import record_keeping
from fluency.workflow.signature import sign, signature_of, signer_of

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not there")


@pytest.fixture
def archive(tmp_path) -> Path:
    path = tmp_path / "study.tar.zst"
    path.write_bytes(b"bytes of an archive")
    return path


def key(folder: Path, name: str) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return folder / name


def allowed(folder: Path, *keys: Path) -> Path:
    path = folder / "allowed_signers"
    path.write_text("".join(f"{key.name}@example.org {key.with_suffix('.pub').read_text()}" for key in keys))
    return path


def test_the_signer_is_named_as_long_as_the_bytes_are_those(archive, tmp_path):
    ada, eve = key(tmp_path, "ada"), key(tmp_path, "eve")
    signers = allowed(tmp_path, ada)
    assert sign(archive, ada) == signature_of(archive)
    assert signer_of(archive, signers) == "ada@example.org"
    sign(archive, eve)
    assert signer_of(archive, signers) is None, "not one of them"
    sign(archive, ada)
    archive.write_bytes(b"other bytes")
    assert signer_of(archive, signers) is None, "not these bytes"


def test_a_signature_for_another_purpose_is_none(archive, tmp_path):
    ada = key(tmp_path, "ada")
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", str(ada), str(archive)], check=True)
    assert signature_of(archive).is_file() and signer_of(archive, allowed(tmp_path, ada)) is None


def test_verification_ends_with_1_where_nobody_allowed_signed(archive, tmp_path, capsys):
    ada, eve = key(tmp_path, "ada"), key(tmp_path, "eve")
    sign(archive, eve)
    assert record_keeping.verify(archive, signers=allowed(tmp_path, ada)) == 1
    assert "signed by none of the allowed signers" in capsys.readouterr().out


def test_what_is_missing_is_said(archive, tmp_path):
    with pytest.raises(UserError, match="there is no signature"):
        signer_of(archive, tmp_path / "allowed_signers")
    with pytest.raises(UserError, match="ssh-keygen did not sign it"):
        sign(archive, tmp_path / "no-key")
    sign(archive, key(tmp_path, "ada"))
    with pytest.raises(UserError, match="there is no file of allowed signers"):
        signer_of(archive, tmp_path / "allowed_signers")
