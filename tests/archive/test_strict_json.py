"""How deep a document that nobody vouches for may nest: all of its branches are looked at."""

from __future__ import annotations

import json

import pytest

from fluency.archive.untrusted_json import MAX_DEPTH, untrusted_json
from fluency.common.errors import ArchiveError


def nested(levels: int) -> object:
    value: object = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value, "b": 2}
    return value


@pytest.mark.parametrize("beside", [[], [[1], []]], ids=["alone", "beside shallow ones"])
def test_one_branch_that_nests_too_deep_is_enough(beside: list) -> None:
    def read(levels: int) -> object:
        return untrusted_json(json.dumps([*beside, nested(levels - 1), *beside]).encode(), "x.json")

    assert read(MAX_DEPTH)
    with pytest.raises(ArchiveError, match="nests"):
        read(MAX_DEPTH + 1)
