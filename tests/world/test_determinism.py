"""The same seed gives the same bytes: in this process, in another, on another machine."""

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
from dataclasses import replace

import pytest

from fluency.common.files import pretty_json, sha256
from fluency.common.paths import ROOT
from fluency.world import Builder, Finding, Job, Route, When, World, build_world, gzipped
from fluency.world.rng import Rng

# A change here changes every study's worlds: say so in the changelog.
PINNED = {
    11: "ae49116c9b4004b5a2b971c97fc5af4e1f38101cf8d7157052fafc67783d6c26",
    24: "6b11eadc73f1da0484abcb1b2da8906fc9d25d0b1e31477d60e52c3921fe40d6",
}
SIXTY = "5ffe375afc1c583ee035784d8d3199b224a0ef30e1c330b52b5139c55810e258"


@pytest.mark.parametrize("seed", PINNED)
def test_world_has_pinned_bytes(seed):
    assert build_world(seed).sha256 == PINNED[seed]


def test_sixty_worlds_have_pinned_bytes():
    """Two seeds do not reach every draw."""
    assert sha256("".join(build_world(seed).sha256 for seed in range(100, 160))) == SIXTY


def test_world_is_same_in_another_process():
    code = "from fluency.world import build_world; print(build_world(11).sha256)"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "scripts")}
    for hash_seed in ("1", "4711"):
        own = {"PYTHONHASHSEED": hash_seed, "LC_ALL": "C", "TZ": "Asia/Tokyo"}
        command = [sys.executable, "-c", code]
        printed = subprocess.check_output(command, env=environment | own, text=True)
        assert printed.strip() == build_world(11).sha256


def test_world_is_built_once():
    assert build_world(11) is build_world(11)


def test_world_tar_holds_the_tree_alone():
    world = build_world(24)
    with tarfile.open(fileobj=io.BytesIO(world.tar)) as archive:
        members = archive.getmembers()
        held = {m.name: archive.extractfile(m).read() for m in members if m.isfile()}
    assert held == dict(world.files)
    assert {m.name for m in members if m.isdir()} == set(world.dirs)
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, 0, "", "")}
    assert {m.mode for m in members} == {0o644, 0o755}
    assert len(members) == len(held) + len(world.dirs), "only files and folders"
    assert set(world.ages) == set(held) | set(world.dirs)


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 140_000])
def test_gzipped_reads_back(size):
    data = Rng("gzip").bytes(size)
    made = gzipped(data)
    assert gzip.decompress(made) == data
    assert data[:65_535] in made


def test_rng_has_pinned_draws():
    rng = Rng("pinned")
    assert [rng.below(1000) for _ in range(6)] == [820, 803, 233, 22, 254, 18]
    assert "".join(rng.shuffled("abcdef")) == "eafbdc"
    assert Rng("pinned").split("part").bytes(4).hex() == "5954ad66"


def test_route_rules_are_in_world_hash_and_read_back():
    def world(**rules) -> World:
        builder = Builder(build_world(24), "test")
        names = ("X-First", "ETag") if rules.pop("ordered", False) else ("ETag", "X-First")
        builder.route("/made", 200, dict.fromkeys(names, "1"), b"\xff", **rules)
        builder.routes.append(Route("GET", "/made", 404, {}, b""))
        return builder.finish()

    job = Job("/made/", "j", ("1", "2"))
    made = [
        world(),
        world(ordered=True),
        world(when=When(query={"q": "a"})),
        world(when=When(query={"q": None})),
        world(when=When(headers={"q": "a"})),
        world(when=When(json="1")),
        world(findings=[Finding("x", {"code": "1"})]),
        world(findings=[Finding("x", {"code": "2"})]),
        world(job=job),
        world(job=replace(job, steps=("1",))),
    ]
    assert len({one.sha256 for one in made}) == len(made)
    for one in made:
        again = [Route.from_json(json.loads(pretty_json(route.to_json()))) for route in one.http]
        assert again == list(one.http)
        for route, before in zip(again, one.http, strict=True):
            assert list(route.headers) == list(before.headers)
