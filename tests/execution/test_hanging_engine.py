"""An engine that does not answer holds nobody up for ever, and no container of ours runs on."""

import secrets

import pytest

from fluency.common.errors import SandboxError
from fluency.core.study import Limits
from fluency.execution import container, image
from fluency.execution.container import remove_old_containers
from fluency.execution.engine import Client
from fluency.execution.sandbox import Sandbox, canary
from tests.execution.hanging_engine import hanging
from tests.execution.run_it import bash, own_containers
from tests.waiting import wait_for

pytestmark = pytest.mark.engine


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
def test_a_call_that_is_never_answered(sandbox, tmp_path, monkeypatch, call):
    monkeypatch.setitem(container.LABELS, container.LABEL, secrets.token_hex(4))
    real = sandbox._engine
    with hanging(real, tmp_path, call) as hung:
        slow = Sandbox(hung.engine, sandbox.image, 1)
        _only_this_one_hurries(slow._engine.client(), call, monkeypatch)
        with pytest.raises(SandboxError, match="went away"):
            slow._run(canary(Limits()))
        assert hung.taken.is_set()
        hung.let_go.set()
        if call == "/containers/create":
            wait_for(lambda: own_containers(real, all=True), 60)  # made late, and never started: the next hour's start
            monkeypatch.setattr(container, "OLD_S", 1)
            wait_for(lambda: remove_old_containers(real), 10)
        slow._engine.client().timeout = 60
        assert bash(slow, "echo again").stdout.data == "again\n"
        wait_for(lambda: not own_containers(real, all=True), 60)


def test_a_program_of_a_new_image_that_never_ends(sandbox, monkeypatch):
    monkeypatch.setitem(container.LABELS, container.LABEL, secrets.token_hex(4))
    monkeypatch.setattr(image, "PROBE_S", 2)
    with pytest.raises(SandboxError, match="went away"):
        image._probe(sandbox._engine, sandbox.image.image_id, ["/usr/bin/sleep", "600"])
    wait_for(lambda: not own_containers(sandbox._engine, all=True), 60)
