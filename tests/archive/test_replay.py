"""A replay asks no model: it judges the answers again, or runs their commands again."""

from dataclasses import replace

import pytest

from fluency.archive.commands import replay as replay_in_words
from fluency.archive.replay import replay_archive
from fluency.archive.verify import verify_archive
from fluency.common.errors import SandboxError, UserError
from fluency.core.records import Result
from fluency.core.study import SandboxConfig
from fluency.execution.protocol import Invocation
from fluency.generation.providers.sdk_provider import Provider
from fluency.scoring import score_cell
from tests.archive.factory import Executor, archived, make, make_study, result_of
from tests.archive.hostile import rewritten, text


@pytest.fixture(autouse=True)
def no_model(monkeypatch):

    def refuse(*_, **__):
        raise AssertionError("a replay asked a model")

    monkeypatch.setattr(Provider, "send", refuse)


def test_nothing_differs_by_the_same_checks(archive):
    replay = replay_archive(archive)
    assert (replay.differences, replay.cells, replay.before) == ([], 8, replay.after)
    assert "0 of 8 cells pass or fail differently" in replay.markdown()
    assert "unchanged" in replay.markdown()


def test_replay_with_another_check_shows_differences(archive, monkeypatch, tmp_path, capsys):
    """The present check of a task decides, here one that finds every output wrong."""

    def strict(task, result, expected):
        found = judge(task, result, expected)
        why = r"line 1 'a|b' does not match ^\d+$" + "\n\x1b[2J"
        return replace(found, content=False, why=why) if task.id == "stale-lockfiles" else found

    judge = score_cell.judge
    monkeypatch.setattr(score_cell, "judge", strict)
    replay = replay_archive(archive)
    assert [d.cell for d in replay.differences if d.pass_changed] == [
        f"qwen-0.5b/{shell}/stale-lockfiles/1" for shell in ("bash", "pwsh")
    ]
    assert replay.before != replay.after
    assert replay_in_words(archive, "score", markdown=tmp_path / "new" / "replay.md") == 0
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "new" / "replay.md").read_text(encoding="utf-8")
    assert "\x1b" not in printed and "&#94;&#92;d+&#36;⏎" in printed
    assert "# Scored again by the present checks" in printed
    assert "2 of 8 cells pass or fail differently" in printed
    assert "`qwen-0.5b/bash/stale-lockfiles/1`" in printed and " now: " in printed


class Newer(Executor):
    """A newer image, in which one command stops working and another prints other words."""

    def run(self, invocation: Invocation) -> Result:
        result = super().run(invocation)
        if result.exit_code == 0 and "curl" in invocation.command:
            return result_of(b"", b"curl: not found\n", 127)
        return result


def test_replay_shows_changes_of_newer_image(archive, made):
    executor = Newer(made.tasks, ("bash", "pwsh"))
    shells = {"bash": "5.3.0", "pwsh": "7.7.0"}
    executor.image = executor.image.model_copy(update={"shells": shells, "image_id": "sha256:new"})
    replay = replay_archive(archive, executor, utc="2027-01-01T00:00:00Z")
    assert [d.cell for d in replay.differences if d.pass_changed] == [
        "qwen-0.5b/bash/fetch-top-crates/1"
    ]
    what = next(d.what for d in replay.differences if d.pass_changed)
    for words in ("passed: True, now False", "now missing-program", "worlds_passed: 2, now 0"):
        assert words in what
    assert "pwsh: archived 7.6.5, now 7.7.0" in replay.notes and replay.before != replay.after


LIMITS = SandboxConfig().limits.model_dump()
LARGER = {name: 2 * limit for name, limit in LIMITS.items() if name != "timeout_s"}
LARGER["timeout_s"] = LIMITS["timeout_s"] | {"pwsh": 600.0}


def test_replay_refuses_higher_limits(tmp_path):
    limits = {"sandbox": {"limits": LARGER}}
    study = make(
        tmp_path / "s", make_study(("stale-lockfiles",), trials=1, shells=["bash"], **limits)
    )
    path = archived(study, tmp_path / "out")
    executor = Executor(study.tasks, ("bash", "pwsh"))
    for name in LIMITS:
        with pytest.raises(UserError, match="higher limits than this checkout's") as error:
            replay_archive(path, executor, allowed=LIMITS.keys() - {name})
        assert error.value.hint.endswith(f"ALLOW={name}")
    with pytest.raises(UserError, match="there is no limit room"):
        replay_archive(path, executor, allowed=["room"])
    assert replay_archive(path, executor, utc="2027-01-01T00:00:00Z", allowed=LIMITS).cells == 1
    assert replay_archive(path).differences == [], "nothing runs, so nothing is taken"


def test_no_altered_file_is_replayed(archive, tmp_path):
    change = text("results/executions/.*/1.json", '"exit_code": 0', '"exit_code": 1')
    forged = rewritten(archive, tmp_path, change, repair=False)
    with pytest.raises(UserError, match="altered or damaged: results/executions"):
        replay_archive(forged)


def test_replay_with_failing_sandbox_keeps_archived_cell(archive, made):
    class Broken(Executor):
        def run(self, _: Invocation) -> Result:
            raise SandboxError("the engine went away")

    replay = replay_archive(archive, Broken(made.tasks, ("bash", "pwsh")))
    assert len(replay.differences) == 8 and replay.before == replay.after
    assert all("the engine went away" in d.what for d in replay.differences)


def test_replay_judges_by_present_check(archive, tmp_path):
    trap = tmp_path / "sprung"
    evil = f"open({str(trap)!r}, 'w').close()\n\n\ndef expected"
    change = text("tasks/stale-lockfiles/answer.py", "def expected", evil)
    forged = rewritten(archive, tmp_path, change)
    replay = replay_archive(forged)
    assert "task stale-lockfiles has another check than the archived one" in replay.notes
    assert replay.differences == [] and not trap.exists()


@pytest.mark.engine
def test_replay_in_real_sandbox_repeats_results(sandbox, tmp_path):
    held = [shell for shell in ("bash", "pwsh") if sandbox.image.shells.get(shell)]
    study = make_study(
        ("stale-lockfiles", "tree-size-bytes"),
        trials=1,
        shells=held,
        sandbox=SandboxConfig().model_dump(),
    )
    made = make(tmp_path / "s", study, sandbox=sandbox)
    path = archived(made, tmp_path / "out")
    report = verify_archive(path)
    assert report.exit_code == 0, report.lines()
    replay = replay_archive(path, sandbox, utc="2027-01-01T00:00:00Z")
    assert [d for d in replay.differences if d.pass_changed] == []


def test_replay_of_scores_refuses_limits(archive):
    with pytest.raises(UserError, match="ALLOW=memory_mb: limits count only where commands run"):
        replay_in_words(archive, "score", ["memory_mb"])
