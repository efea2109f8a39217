"""An image that carries our labels and runs something else is refused before anything is measured in it."""

from __future__ import annotations

import io
import json

import pytest

from fluency.common.errors import SandboxError
from fluency.common.paths import SANDBOX
from fluency.core.study import Limits
from fluency.execution.image import LABEL, find_image
from fluency.execution.image_content import runner_sha256
from fluency.execution.protocol import PROTOCOL, read_start
from fluency.execution.sandbox import Sandbox, canary

pytestmark = pytest.mark.engine


def test_the_image_says_what_runs_in_it_and_the_runner_is_this_checkouts(sandbox: Sandbox) -> None:
    identity = sandbox.image.identity
    shells = {name for name, version in sandbox.image.shells.items() if version}
    assert identity.keys() == {"runner", "interpreter", "helper", *shells}
    assert identity["runner"] == runner_sha256(SANDBOX)
    assert {len(digest) for digest in identity.values()} == {64} and len(set(identity.values())) == len(identity)


CHANGED = {
    "bash": "/usr/bin/bash",
    "helper": "/opt/helper/helper",
    "interpreter": "/opt/fluency/__pycache__/tree.cpython-*.pyc",
    "runner": "/opt/fluency/service.py",
}


def test_another_image_under_our_labels_is_refused(sandbox: Sandbox) -> None:
    """Whatever is built on our image inherits its labels."""
    client, tag = sandbox._engine.client(), "agent-shell-sandbox:other-content"
    change = f"for file in {' '.join(CHANGED.values())}; do echo >> $file; done"
    dockerfile = f"FROM {sandbox.image.image_id}\nENTRYPOINT []\nRUN {change}\n"
    dockerfile += f"ENTRYPOINT {json.dumps(client.inspect_image(sandbox.image.image_id)['Config']['Entrypoint'])}\n"
    for line in client.build(fileobj=io.BytesIO(dockerfile.encode()), tag=tag, rm=True, forcerm=True, decode=True):
        assert "error" not in line, line
    try:
        image = find_image(sandbox._engine, tag)
        assert image is not None and image.image_id != sandbox.image.image_id, "by its labels it is ours"
        with pytest.raises(SandboxError, match="not the one that was built here") as caught:
            Sandbox(sandbox._engine, image, 1).canary(Limits())
        assert caught.value.what.endswith(f"other content in {', '.join(CHANGED)}")
        assert image.image_id in caught.value.hint
    finally:
        client.remove_image(tag, force=True)


def test_labels_of_another_runner_are_not_ours(sandbox: Sandbox) -> None:
    """Not even where they name the content of this checkout."""
    client, tag = sandbox._engine.client(), "agent-shell-sandbox:other-label"
    identity = json.dumps(sandbox.image.identity | {"runner": "0" * 64})
    dockerfile = io.BytesIO(f"FROM {sandbox.image.image_id}\n".encode())
    for line in client.build(fileobj=dockerfile, tag=tag, rm=True, labels={f"{LABEL}identity": identity}, decode=True):
        assert "error" not in line, line
    try:
        assert find_image(sandbox._engine, tag) is None
    finally:
        client.remove_image(tag, force=True)


def test_only_the_known_command_asks_for_it(sandbox: Sandbox) -> None:
    """Hashing takes longer than most commands, and every execution runs the image by its id, which is its content."""
    assert canary(Limits()).identify
    start = {"protocol": PROTOCOL, "nonce": "n", "processes": [], "identity": {}}
    assert read_start(json.dumps(start).encode() + b"\n", "n").identity == {}
