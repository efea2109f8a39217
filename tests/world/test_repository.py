"""A repository is written without git, is the same in every build, and git takes it."""

import os
import shutil
import subprocess
import sys
import zlib

import pytest

from fluency.common.paths import ROOT
from fluency.world import Builder, Commit, World, build_world, history, read_repository
from fluency.world.repository import MOST_PATHS, repository

HASH = "a5107689e91c4f4bc326567f480b03df8c98653670ebc1fbc9f6a5317242cecf"
ADA = "Ada Lind <ada@vox.example>"


def seeded(seed=11) -> World:
    builder = Builder(build_world(seed), "repository")
    files = dict(builder.files)
    commits = [
        Commit("Start", files | {"README.md": b"# Old\n"}, 1_700_000_000),
        Commit("Rename the project\n\nIt was old.", files, 1_700_000_100, (0,)),
        Commit("Add a page", files | {"docs/new.md": b"new\n"}, 1_700_000_200, (1,), ADA),
    ]
    builder.repository(commits, {"refs/heads/main": 1, "refs/heads/side": 2, "refs/tags/v1": 0})
    return builder.finish()


def test_repository_is_the_same_in_another_process():
    code = "from tests.world.test_repository import seeded; print(seeded().sha256)"
    paths = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'scripts'}:{ROOT}"}
    own = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "HOME": "/nowhere"}
    printed = subprocess.check_output([sys.executable, "-c", code], env=paths | own, text=True)
    assert printed.strip() == seeded().sha256 == HASH


@pytest.mark.skipif(not shutil.which("git"), reason="checks it with git itself")
def test_git_takes_the_repository_and_is_read_again(tmp_path):
    for path, data in seeded().files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)

    def git(*words):
        alone = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}
        return subprocess.check_output(["git", *words], cwd=tmp_path, env=alone, text=True)

    assert git("fsck", "--strict") == git("status", "--short") == ""
    assert git("log", "--all", "--format=%s by %an").splitlines() == [
        "Add a page by Ada Lind",
        "Rename the project by Robin Vox",
        "Start by Robin Vox",
    ]
    (tmp_path / "README.md").write_text("# New\n")
    git("commit", "-qam", "Change it")
    git("merge", "-q", "-m", "Join", "side")
    git("branch", "-d", "side")
    git("tag", "-a", "v2", "-m", "Two")
    git("pack-refs", "--all")
    (tmp_path / "staged").write_text("s")
    git("add", "staged")
    inside = tmp_path / ".git"
    files = {
        p.relative_to(inside).as_posix(): p.read_bytes() for p in inside.rglob("*") if p.is_file()
    }
    found = read_repository(files)
    assert found.keys() == {"HEAD", "index", "refs/heads/main", "refs/tags/v1", "refs/tags/v2"}
    main = found["refs/heads/main"]
    assert (found["HEAD"], main["message"], len(main["parents"])) == ("refs/heads/main", "Join", 2)
    assert (
        found["index"].keys() - main["files"].keys() == {"staged"}
        and "docs/new.md" in main["files"]
    )
    assert found["refs/tags/v2"] == main
    shown = git("ls-tree", "-r", "--format=%(path) %(objectname)", "HEAD").splitlines()
    assert sorted(f"{path} {name}" for path, name in main["files"].items()) == sorted(shown)


def test_history_follows_first_parents():
    git = {name.removeprefix(".git/"): data for name, data in seeded().under(".git").items()}
    found = history(git, "refs/heads/side")
    assert [one["message"].split("\n")[0] for one in found] == [
        "Add a page",
        "Rename the project",
        "Start",
    ]
    assert found[0] == read_repository(git)["refs/heads/side"]


def test_read_repository_refuses_damage():
    files = {path.removeprefix(".git/"): data for path, data in seeded().under(".git").items()}
    tip = read_repository(files)["refs/heads/main"]["id"]
    place = f"objects/{tip[:2]}/{tip[2:]}"
    another = next(data for path, data in files.items() if path > place)
    for odd in (
        {place: another},
        {place: b"x"},
        {"refs/heads/main": b"../../HEAD\n"},
        {"index": b"DIRC" + b"\xff" * 99},
    ):
        with pytest.raises(ValueError, match=r"^\w+: "):
            read_repository(files | odd)


def test_read_repository_writes_nothing_outside(tmp_path, monkeypatch):
    """An archive states the names: none of them leads out of the folder that is read."""
    files = {path.removeprefix(".git/"): data for path, data in seeded().under(".git").items()}
    tip = read_repository(files)["refs/heads/main"]["id"]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "deep/er"))
    (tmp_path / "deep/er").mkdir(parents=True)
    starts = ("objects/", "objects/aa/", "refs/", "refs/heads/", "", "/")
    for start in starts:
        for up in ("../x", "../../x", f"../../../../..{tmp_path}/x", f"{tmp_path}/x"):
            read = read_repository(files | {f"{start}{up}": f"{tip}\n".encode()})
            assert read["refs/heads/main"]["id"] == tip
    assert [path.name for path in tmp_path.rglob("*")] == ["deep", "er"]


def test_read_repository_bounds_what_few_bytes_can_state():
    files = {path.removeprefix(".git/"): data for path, data in seeded().under(".git").items()}
    tip = read_repository(files)["refs/heads/main"]["id"]
    bomb = zlib.compress(b"blob 9999999999\0" + bytes(1 << 26), 9)
    with pytest.raises(ValueError, match="an object of 4194304 bytes or more"):
        read_repository(files | {f"objects/aa/{'0' * 38}": bomb})
    many = {f"refs/heads/{n}": f"{tip}\n".encode() for n in range(2_000)}
    assert len(read_repository(files | many)) > 2_000, "one commit is read once"
    inside = {f"d/{n}": b"" for n in range(MOST_PATHS)}
    wide = repository([Commit("Many", inside, 0)], {"refs/heads/main": 0})
    with pytest.raises(ValueError, match="more than 10000 paths"):
        read_repository(wide)
    packed = {f"objects/pack/pack-{'0' * 40}.{end}": b"PACK" for end in ("pack", "idx")}
    assert read_repository(files | packed) == read_repository(files), "packs are not opened"
