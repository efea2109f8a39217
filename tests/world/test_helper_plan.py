"""What a plan of processes may say, and that worlds which do not say it keep their hashes."""

from dataclasses import fields, replace

import pytest

from fluency.world import Builder, HelperSpec, WorldError
from fluency.world.model import world_sha256

PLAIN = HelperSpec("a", "vox-a", ("--x", "1"), "b", 3, 4)
FURTHER = {
    "threads": ("io-1", ""),
    "own_session": True,
    "subreaper": True,
    "ends": True,
    "ids": "another-digit",
}


def sha(helper: HelperSpec) -> str:
    return world_sha256(b"", {}, (), (helper,))


def test_a_helper_without_further_fields_is_what_it_always_was():
    first = {"key": "a", "name": "vox-a", "args": ["--x", "1"], "parent": "b", "rss_mb": 3, "virt_mb": 4}
    assert PLAIN.to_json() == first
    # As worlds hashed it before there were others: computed then.
    assert sha(PLAIN) == "eee9fa3ceb38a6bfe3678ff52b77eaf9d5ef56e208fc0ea480f460d4a52822ce"


def test_each_further_field_is_in_the_hash_and_comes_back():
    assert set(FURTHER) == {field.name for field in fields(HelperSpec)} - set(PLAIN.to_json())
    changed = [replace(PLAIN, **{name: value}) for name, value in FURTHER.items()]
    assert len({sha(helper) for helper in (PLAIN, *changed)}) == 6
    for helper in (PLAIN, *changed, replace(PLAIN, **FURTHER)):
        assert HelperSpec.from_json(helper.to_json()) == helper


@pytest.mark.parametrize("name", ["io 1", "sixteen-letters-", "io\x1f1"])
def test_a_thread_has_a_plain_name(name):
    with pytest.raises(WorldError, match="threads have plain names"):
        Builder(1).process(HelperSpec("a", "vox-a", threads=(name,)))


def test_a_process_has_a_name_that_the_kernel_can_hold_whole():
    builder = Builder(1)
    builder.process(HelperSpec("a", "v" * 15))
    for name in ("", "v" * 16):
        with pytest.raises(WorldError, match="process names of at most 15 characters"):
            builder.process(HelperSpec(f"b{name}", name))
    assert [helper.key for helper in builder.processes] == ["a"]
