"""What an image contains and records: the shells, and where its PowerShell came from."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fluency.common.paths import SANDBOX
from fluency.core.records import ImageInfo
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.execution.image import build_arguments, forget_other_image
from fluency.execution.image_content import content_sha256
from fluency.execution.powershell import archive_origin, pinned, release_name

FIRST = SHELLS[DESIGN_SHELLS[0]]


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    yield
    content_sha256.cache_clear()


def current_hash() -> str:
    content_sha256.cache_clear()
    return content_sha256()


def test_content_hash_with_one_more_shell(monkeypatch):
    before = current_hash()
    zsh = replace(FIRST, name="zsh", argv=("/usr/bin/zsh", "-c"), packages=("zsh",))
    monkeypatch.setitem(SHELLS, "zsh", zsh)
    assert current_hash() != before and build_arguments()["SHELLS"].endswith(" zsh=/usr/bin/zsh")
    assert build_arguments()["SHELL_PACKAGES"].endswith(" zsh")


@pytest.mark.parametrize(
    "fact", [{"argv": ("/usr/bin/bash", "-c")}, {"version_command": "echo 5"}, {"packages": ()}]
)
def test_content_hash_covers_shells(fact, monkeypatch):
    before = current_hash()
    monkeypatch.setitem(SHELLS, FIRST.name, replace(FIRST, **fact))
    assert current_hash() != before


def test_dockerfile_defaults_are_the_shells():
    text = (SANDBOX / "Dockerfile").read_text()
    assert dict(re.findall(r'^ARG (SHELL\w+)="(.*)"$', text, re.MULTILINE)) == build_arguments()


FACTS = {"image_id": "i", "content_sha256": "c" * 64, "packages_sha256": "d" * 64}
FACTS |= {"base": "b", "architecture": "a"}
INFO = ImageInfo(shells={"bash": "5.2", "pwsh": "7.6.5"}, **FACTS)


@pytest.mark.parametrize(("pwsh", "kept"), [("7.6.5", True), (None, False), ("7.6.4", False)])
def test_forget_other_image_by_shells(tmp_path, pwsh, kept):
    record = tmp_path / "image.json"
    forget_other_image(INFO, record)  # no record is fine
    record.write_text(json.dumps({"image": {"shells": {"bash": "5.2", "pwsh": pwsh}}}))
    forget_other_image(INFO, record)
    assert record.exists() is kept


X64, ARM64 = (pinned()[release_name(machine)] for machine in ("amd64", "arm64"))


@pytest.mark.parametrize(
    ("label", "architecture", "archives", "unofficial"),
    [
        ("download", "amd64", {"pwsh": X64}, []), ("download", "arm64", {"pwsh": ARM64}, []),
        (X64, "amd64", {"pwsh": X64}, []), ("ab" * 32, "amd64", {"pwsh": "ab" * 32}, ["pwsh"]),
        ("none", "amd64", {}, []),
    ],
)  # fmt: skip
def test_archive_origin_by_label(label, architecture, archives, unofficial):
    assert archive_origin(label, architecture) == (archives, unofficial)
