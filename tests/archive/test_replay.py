"""A replay asks no model: the answers are judged anew, or their commands run anew."""

from __future__ import annotations

import pytest

from fluency.archive.replay import replay_archive
from fluency.common.errors import UserError
from fluency.core.records import Result
from fluency.core.study import SandboxConfig
from fluency.execution.invocation import Invocation
from fluency.generation.providers.messages import MessagesProvider
from fluency.scoring import score_cell
from tests.archive.factory import Executor, archived, make, make_study, result_of
from tests.archive.hostile import rewritten
from tests.archive.test_verify import quiet, text


@pytest.fixture(autouse=True)
def no_model(monkeypatch):
    """Whoever asks a model fails the test."""

    def refuse(*_, **__):
        raise AssertionError("a replay asked a model")

    monkeypatch.setattr(MessagesProvider, "ask", refuse)


def test_nothing_differs_by_the_same_checks(archive):
    replay = replay_archive(archive, "score", say=quiet)
    assert (replay.differences, replay.cells, replay.before) == ([], 8, replay.after)
    assert "0 of 8 cells pass or fail otherwise" in replay.markdown() and "unchanged" in replay.markdown()


def test_another_check_shows_in_cells_and_verdict(archive, monkeypatch):
    """The present check of a task decides, here one that finds every output wrong."""
    from fluency.scoring.verdict import judge

    def strict(task, result, expected):
        return judge(task, result, ["nothing is right"] if task.id == "stale-lockfiles" else expected)

    monkeypatch.setattr(score_cell, "judge", strict)
    replay = replay_archive(archive, "score", say=quiet)
    assert [d.cell for d in replay.differences if d.verdict] == [
        f"qwen-0.5b/{shell}/stale-lockfiles/1" for shell in ("bash", "pwsh")
    ]
    assert replay.before != replay.after
    assert "2 of 8 cells pass or fail otherwise" in replay.markdown() and "now:" in replay.markdown()


class Newer(Executor):
    """A newer image, in which one command stops working and another prints other words."""

    def run(self, invocation: Invocation) -> Result:
        result = super().run(invocation)
        if result.exit_code == 0 and "curl" in invocation.command:
            return result_of(b"", b"curl: not found\n", 127)
        return result


def test_commands_run_anew_show_what_a_newer_image_changes(archive, made):
    executor = Newer(made.tasks, ("bash", "pwsh"))
    shells = {"bash": "5.3.0", "pwsh": "7.7.0"}
    executor.image = executor.image.model_copy(update={"shells": shells, "image_id": "sha256:new"})
    replay = replay_archive(archive, "execute", executor, say=quiet, utc="2027-01-01T00:00:00Z")
    assert [d.cell for d in replay.differences if d.verdict] == ["qwen-0.5b/bash/fetch-top-crates/1"]
    only = next(d for d in replay.differences if d.verdict)
    assert (
        only.archived == "pass" and "command-not-found" in only.now and "exit code in world 11: 0, now 127" in only.also
    )
    assert "pwsh: archived 7.6.5, now 7.7.0" in replay.notes
    assert replay.before != replay.after


def test_execution_needs_a_sandbox(archive):
    with pytest.raises(UserError, match="no sandbox"):
        replay_archive(archive, "execute", say=quiet)


def test_a_failing_sandbox_leaves_the_cell_as_archived_and_says_so(archive, made):
    from fluency.common.errors import SandboxError

    class Broken(Executor):
        def run(self, _: Invocation) -> Result:
            raise SandboxError("the engine went away")

    replay = replay_archive(archive, "execute", Broken(made.tasks, ("bash", "pwsh")), say=quiet)
    assert len(replay.differences) == 8 and replay.before == replay.after
    assert all("the engine went away" in d.now for d in replay.differences)


def test_a_task_with_another_check_is_named_and_judged_by_the_present_one(archive, tmp_path):
    trap = tmp_path / "sprung"
    change = text(
        "tasks/stale-lockfiles/answer.py", "def expected", f"open({str(trap)!r}, 'w').close()\n\n\ndef expected"
    )
    forged = rewritten(archive, tmp_path, change, repair=True)
    replay = replay_archive(forged, "score", say=quiet)
    assert "task stale-lockfiles has another check than the archived one" in replay.notes
    assert replay.differences == [] and not trap.exists()


@pytest.mark.engine
def test_a_real_sandbox_makes_and_replays_the_same(sandbox, tmp_path):
    """Executed in the real sandbox, archived, verified, executed again: the same judgements."""
    from fluency.archive.verify import verify_archive

    held = [shell for shell in ("bash", "pwsh") if sandbox.image.shells.get(shell)]
    study = make_study(
        ("stale-lockfiles", "tree-size-bytes"), trials=1, shells=held, sandbox=SandboxConfig().model_dump()
    )
    made = make(tmp_path / "s", study, sandbox=sandbox)
    path = archived(made, tmp_path / "out")
    report = verify_archive(path, quiet)
    assert report.proven, report.lines()
    replay = replay_archive(path, "execute", sandbox, say=quiet, utc="2027-01-01T00:00:00Z")
    assert [d for d in replay.differences if d.verdict] == []
