"""The image follows the shells: one entry more is another image, and its packages are in either base."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fluency.common.paths import SANDBOX
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.execution.image import build_arguments
from fluency.execution.image_content import base_tag, build_packages, content_sha256, image_packages

FIRST = SHELLS[DESIGN_SHELLS[0]]


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    yield
    content_sha256.cache_clear()


def hashes() -> tuple[str, str]:
    content_sha256.cache_clear()
    return content_sha256(), base_tag(image_packages())


def test_one_entry_more_is_another_image_and_another_base(monkeypatch: pytest.MonkeyPatch) -> None:
    (image, base), packages, compiler = hashes(), image_packages(), build_packages()
    monkeypatch.setitem(SHELLS, "zsh", replace(FIRST, name="zsh", argv=("/usr/bin/zsh", "-c"), packages=("zsh",)))
    assert hashes()[0] != image and hashes()[1] != base
    assert image_packages() == sorted([*packages, "zsh"])
    assert build_packages() == compiler, "the compiler's base needs no shell"
    assert build_arguments()["SHELLS"].endswith(" zsh=/usr/bin/zsh")
    assert build_arguments()["SHELL_PACKAGES"].endswith(" zsh")


@pytest.mark.parametrize("fact", [{"argv": ("/usr/bin/bash", "-c")}, {"version_command": "echo 5"}, {"packages": ()}])
def test_what_the_image_knows_of_a_shell_is_in_its_hash(fact: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hashes()
    monkeypatch.setitem(SHELLS, FIRST.name, replace(FIRST, **fact))
    assert hashes()[0] != before[0]


def test_the_dockerfile_alone_builds_the_same() -> None:
    text = (SANDBOX / "Dockerfile").read_text()
    assert dict(re.findall(r'^ARG (SHELL\w+)="(.*)"$', text, re.MULTILINE)) == build_arguments()
