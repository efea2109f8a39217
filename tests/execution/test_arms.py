"""The program of a shell is in its own image alone, and the error of its bad entry."""

import pytest

from fluency.common.errors import SandboxError
from fluency.core.shells import SHELLS, Archive, Install
from fluency.core.study import SandboxConfig
from fluency.execution import archives
from fluency.execution.image import ensure_image
from fluency.execution.sandbox import Sandbox
from tests.execution.run_it import bash

ARMS = [name for name, shell in SHELLS.items() if shell.install.is_layer]
SEARCH = """
find / \\( -path '*/{program}' -o -name {name} \\) ! -path '/proc/*' -executable ! -type d 2>/dev/null
/lib64/ld-linux-x86-64.so.2 {program} 2>&1 | grep -v 'cannot open'
readlink /proc/[0-9]*/exe | grep -F {program}
cp /proc/1/exe /tmp/copy 2>/dev/null && echo copied
cat /opt/fluency/python3 >/dev/null 2>&1 && echo read
true"""


@pytest.mark.engine
@pytest.mark.parametrize("arm", ARMS)
def test_no_other_image_has_the_program(sandbox, engine, arm):
    """Bash looks for it in each image: by name, path, loader, process and copy."""
    if why := sandbox.why_missing(arm):
        pytest.skip(why)
    program = SHELLS[arm].argv[0]
    search = SEARCH.format(program=program, name=program.rpartition("/")[2])
    for name, image in sandbox.images.items():
        found = bash(Sandbox(engine, {"bash": image}, SandboxConfig()), search).stdout.data.split()
        assert (program in found) == (name == arm), (name, found)
        assert not found or name == arm


@pytest.fixture
def mine(monkeypatch):
    """Adds a variant of Bash under another name."""

    def add(**fields):
        entry = SHELLS["bash"].model_copy(update={"name": "mine", "title": "Mine"} | fields)
        monkeypatch.setitem(SHELLS, "mine", entry)

    return add


BAD = {
    "a version command that fails": ({"version_command": "exit 3"}, "exit code 3"),
    "a version command that says more": ({"version_command": "echo 1; echo 2"}, "nothing else"),
    "a missing program": ({"argv": ["/usr/bin/none", "-c"]}, "does not run in the image"),
}


@pytest.mark.engine
@pytest.mark.parametrize("case", BAD)
def test_entry_that_does_not_run_names_its_key(engine, mine, case):
    fields, said = BAD[case]
    mine(**fields)
    with pytest.raises(SandboxError) as caught:
        ensure_image(engine, "mine")
    assert said in caught.value.what and "bash.yaml: " in caught.value.where and caught.value.hint
    assert next(iter(fields)) in caught.value.where


def test_archive_of_another_processor_is_said(mine, monkeypatch):
    other = {"x64": "arm64", "arm64": "x64"}[archives.architecture_of()]
    pinned = Archive(file="mine", program="mine", sha256={other: "0" * 64})
    mine(install=Install(archive=pinned), argv=["/opt/languages/mine/mine", "-c"])
    why = archives.why_no_download("mine")
    assert why and "not for" in why and "install.archive.sha256" in why
