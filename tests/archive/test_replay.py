"""A replay asks no model: it judges the answers again, or runs their commands again."""

import json
from dataclasses import replace

import pytest

from fluency.archive.replay import replay, replay_archive
from fluency.archive.verify import verify_archive
from fluency.common.errors import SandboxError, UserError
from fluency.core.records import Result
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import SandboxConfig
from fluency.execution.protocol import Invocation
from fluency.scoring import score_cell
from tests.archive.factory import Executor, archived, make, make_study, result_of
from tests.archive.hostile import rewritten, text


def test_nothing_differs_by_the_same_checks(archive, offline):
    found = replay_archive(archive)
    assert (found.differences, found.cells, found.before) == ([], 8, found.after)
    assert found.exit_code == 0
    assert "0 of 8 cells pass or fail differently" in "\n".join(found.lines())
    assert "unchanged" in "\n".join(found.lines())


def test_replay_with_another_check_shows_differences(archive, monkeypatch, capsys):
    """The present check of a task decides, here one that finds every output wrong."""

    def strict(world, task, result):
        found = judge_in(world, task, result)
        why = r"line 1 'a|b' does not match ^\d+$" + "\n\x1b[2J"
        return replace(found, content=False, why=why) if task.id == "stale-lockfiles" else found

    judge_in = score_cell.judge_in
    monkeypatch.setattr(score_cell, "judge_in", strict)
    found = replay_archive(archive)
    assert [d.cell for d in found.differences if d.pass_changed] == [
        f"qwen-0.5b/{shell}/stale-lockfiles/1" for shell in DESIGN_SHELLS
    ]
    assert found.before != found.after
    assert replay(archive, "score", None) == 1
    printed = capsys.readouterr().out
    assert "\x1b" not in printed and r"line 1 'a|b' does not match ^\d+$⏎" in printed
    assert printed.startswith("Scored again by the present checks: ")
    assert "2 of 8 cells pass or fail differently" in printed
    assert "- qwen-0.5b/bash/stale-lockfiles/1, passes or fails differently: `passed` is" in printed
    assert "- now: qwen-0.5b passed " in printed


def test_replay_does_not_count_words_and_times(archive, monkeypatch):
    """A reason quotes what a command printed, such as the date of a file that it made."""

    def dated(world, task, result):
        return replace(judge_in(world, task, result), why="Nov 28 is not Nov 26.")

    judge_in = score_cell.judge_in
    monkeypatch.setattr(score_cell, "judge_in", dated)
    assert replay_archive(archive).differences == []


class Newer(Executor):
    """A newer image, in which one command stops working; the engine fails under one shell."""

    def run(self, invocation: Invocation) -> Result:
        if invocation.shell == "pwsh":
            raise SandboxError("the engine went away")
        if "curl" in invocation.command:
            return result_of(b"", b"curl: not found\n", 127)
        return super().run(invocation)


def test_replay_shows_changes_of_newer_image(archive, made):
    executor = Newer(made.tasks)
    shells = {"bash": "5.3.0", "pwsh": "7.7.0"}
    executor.change_images(shells=shells, image_id="sha256:new")
    found = replay_archive(archive, executor)
    (changed,) = (one for one in found.differences if one.pass_changed)
    assert changed.cell == "qwen-0.5b/bash/fetch-top-crates/1"
    for words in ("`passed` is True, recomputed False", "recomputed 'missing-program'"):
        assert words in changed.what
    left = [one for one in found.differences if "the engine went away" in one.what]
    assert len(left) == 4 and {one.pass_changed for one in left} == {None}
    assert replace(found, differences=left).exit_code == 3
    assert "pwsh: archived 7.6.5, now 7.7.0" in found.notes and found.before != found.after


def test_sample_runs_some_cells_and_leaves_the_rest(archive, made, monkeypatch):
    """An archive with an invented output, of which each cell that is drawn runs again."""
    executor = Newer(made.tasks)
    monkeypatch.setattr(Newer, "run", lambda *_: result_of(b"", exit_code=1))
    found = replay_archive(archive, executor, sample=3)
    passed = [one for one in found.differences if one.pass_changed]
    assert found.cells == 3 and len(found.differences) == 3
    assert found.exit_code == bool(passed)
    whole = replay_archive(archive, executor, sample=40)
    assert (whole.cells, whole.exit_code) == (8, 1)
    assert {one.cell for one in passed} < {one.cell for one in whole.differences}


LIMITS = SandboxConfig().limits.model_dump()
LARGER = {name: 2 * limit for name, limit in LIMITS.items() if name != "timeout_s"}
LARGER["timeout_s"] = LIMITS["timeout_s"] | {"pwsh": 600.0}


def test_replay_refuses_limits_above_config(tmp_path, monkeypatch):
    shape = {"trials": 1, "shells": ["bash"], "sandbox": {"limits": LARGER}}
    made = make(tmp_path / "s", make_study(("stale-lockfiles",), **shape))
    path = archived(made, tmp_path / "out")
    executor = Executor(made.tasks)
    config = tmp_path / "config.yaml"
    monkeypatch.setattr("fluency.core.study.CONFIG", config)
    for name in LIMITS:
        limits = LARGER | {name: LIMITS[name]}
        config.write_text(json.dumps(made.study.model_dump() | {"sandbox": {"limits": limits}}))
        with pytest.raises(UserError, match=f"higher limits than config.yaml gives: {name}"):
            replay_archive(path, executor)
    config.write_text(json.dumps(made.study.model_dump()))
    assert replay_archive(path, executor).cells == 1
    monkeypatch.undo()
    assert replay_archive(path).differences == [], "nothing runs, so nothing is taken"


def test_no_altered_file_is_replayed(archive, tmp_path):
    change = text("results/executions/.*/1.json", '"exit_code": 0', '"exit_code": 1')
    forged = rewritten(archive, tmp_path, change, repair=False)
    with pytest.raises(UserError, match="altered or damaged: results/executions"):
        replay_archive(forged)


@pytest.mark.engine
def test_replay_in_real_sandbox_repeats_results(sandbox, offline, tmp_path):
    held = [shell for shell in DESIGN_SHELLS if not sandbox.why_missing(shell)]
    study = make_study(("stale-lockfiles", "tree-size-bytes"), trials=1, shells=held)
    path = archived(make(tmp_path / "s", study, sandbox=sandbox), tmp_path / "out")
    report = verify_archive(path)
    assert report.exit_code == 0, report.lines()
    found = replay_archive(path, sandbox)
    assert [d for d in found.differences if d.pass_changed] == []
