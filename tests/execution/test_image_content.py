"""The image follows the shells: one more entry is another image."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fluency.common.paths import SANDBOX
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.execution.image import build_arguments
from fluency.execution.image_content import content_sha256

FIRST = SHELLS[DESIGN_SHELLS[0]]


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    yield
    content_sha256.cache_clear()


def current_hash() -> str:
    content_sha256.cache_clear()
    return content_sha256()


def test_one_more_shell_is_another_image(monkeypatch):
    before = current_hash()
    monkeypatch.setitem(SHELLS, "zsh", replace(FIRST, name="zsh", argv=("/usr/bin/zsh", "-c"), packages=("zsh",)))
    assert current_hash() != before
    assert build_arguments()["SHELLS"].endswith(" zsh=/usr/bin/zsh")
    assert build_arguments()["SHELL_PACKAGES"].endswith(" zsh")


@pytest.mark.parametrize("fact", [{"argv": ("/usr/bin/bash", "-c")}, {"version_command": "echo 5"}, {"packages": ()}])
def test_what_the_image_knows_of_a_shell_is_in_its_hash(fact, monkeypatch):
    before = current_hash()
    monkeypatch.setitem(SHELLS, FIRST.name, replace(FIRST, **fact))
    assert current_hash() != before


def test_the_dockerfile_alone_builds_the_same():
    text = (SANDBOX / "Dockerfile").read_text()
    assert dict(re.findall(r'^ARG (SHELL\w+)="(.*)"$', text, re.MULTILINE)) == build_arguments()
