"""Canonical JSON and the hashes over it. The text itself is the rfc8785 package's."""

import math

import pytest

from fluency.common.canonical import EXACT, canonical_json, has_valid_self_hash, with_self_hash
from fluency.common.files import sha256


@pytest.mark.parametrize(
    "value",
    [
        *[EXACT + 2, -EXACT - 2, 2**60, 10**400, {"a": [EXACT + 2]}, math.nan],
        *["\ud800", {"a": ["\ud800"]}, {"\udfff": 1}, {1: 2}, {"a": {2: "b"}}, [{1, 2}], b""],
    ],
)
def test_canonical_json_refuses_value_without_text(value):
    with pytest.raises(ValueError):
        canonical_json(value)


def test_canonical_json_refuses_deep_nesting():
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match="deep"):
        canonical_json(deep)


def test_canonical_json_is_same_for_equal_values():
    one, other = {"b": 30.0, "a": (1, -0.0)}, {"a": [1.0, 0], "b": 30}
    assert canonical_json(one) == canonical_json(other) == '{"a":[1,0],"b":30}'


def test_self_hash_fits_unchanged_document_only():
    document = {"limit": 30.0}
    assert with_self_hash(document)["sha256"] == sha256('{"limit":30}')
    assert has_valid_self_hash(with_self_hash(document))
    assert not has_valid_self_hash(with_self_hash(document) | {"limit": 31.0})
    assert not has_valid_self_hash(document)
    assert not has_valid_self_hash({"a": math.nan, "sha256": ""}), "what has no text"
