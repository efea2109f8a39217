"""An engine that does not answer holds nobody up for ever and keeps no container."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fluency.common.errors import SandboxError
from fluency.core.study import Limits
from fluency.execution import container, image
from fluency.execution.container import remove_unconfirmed
from fluency.execution.engine import Client, Engine
from fluency.execution.sandbox import Sandbox, canary
from tests.execution.hanging_engine import hanging
from tests.execution.run_it import bash
from tests.waiting import wait_for

pytestmark = pytest.mark.engine


def label_own(monkeypatch: pytest.MonkeyPatch, which: str) -> None:
    """Label this process's containers for one test, which tells them from those of others that are still ending."""
    mine = container.owner(os.getpid())
    monkeypatch.setattr(container, "owner", lambda pid: f"{mine} {which}")


def own(engine: Engine) -> set[str]:
    filters = {"label": f"{container.LABEL}={container.owner(0)}"}
    return {found["Id"] for found in engine.client().containers(all=True, filters=filters)}


def _only_this_one_hurries(client: Client, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound of 2 s for the call that is held back, and of 60 s for those that a busy engine takes its time for."""
    send = client.send
    client.timeout = 2
    monkeypatch.setattr(
        client,
        "send",
        lambda request, **more: send(request, **(more if call in request.url else more | {"timeout": 60})),
    )


@pytest.mark.parametrize("call", ["/containers/create", "/attach?", "/start"])
def test_a_call_that_is_never_answered(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    label_own(monkeypatch, f"hanging{call}")
    real = sandbox._engine
    with hanging(real, tmp_path, call) as hung:
        slow = Sandbox(hung.engine, sandbox.image, 1)
        _only_this_one_hurries(slow._engine.client(), call, monkeypatch)
        with pytest.raises(SandboxError, match="went away"):
            slow._run(canary(Limits()))
        assert hung.taken.is_set()
        hung.let_go.set()
        if call == "/containers/create":
            wait_for(lambda: own(real), 60)  # made after all, though nobody waits for it any more
        slow._engine.client().timeout = 60
        left = own(real)
        wait_for(lambda: bash(slow, "echo again").stdout.data == "again\n" and not left & own(real), 120)


def test_a_program_of_a_new_image_that_never_ends(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    label_own(monkeypatch, "hanging-wait")
    monkeypatch.setattr(image, "PROBE_S", 2)
    with pytest.raises(SandboxError, match="went away"):
        image._probe(sandbox._engine, sandbox.image.image_id, ["/usr/bin/sleep", "600"])
    wait_for(lambda: remove_unconfirmed(sandbox._engine) or not own(sandbox._engine), 60)
