"""The canonical text is RFC 8785's, of every value that has one, and the form before it is still recognised."""

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluency.common.canonical import (
    EXACT,
    canonical_json,
    has_valid_self_hash,
    hashes_to,
    with_self_hash,
)
from fluency.common.files import sha256

# RFC 8785, appendix B: the bits of a double, and its text.
NUMBERS = {
    "0000000000000000": "0", "8000000000000000": "0", "0000000000000001": "5e-324", "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308", "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992", "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000", "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23", "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000", "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21", "3eb0c6f7a0b5ed8c": "9.999999999999997e-7", "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332", "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333", "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343", "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}  # fmt: skip

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-EXACT, EXACT) | FLOATS | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


def double(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def as_other_languages(digits):
    return int(digits) if abs(int(digits)) <= EXACT else float(digits)


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_the_numbers_of_the_standard(bits, text):
    assert canonical_json(double(bits)) == text


@pytest.mark.parametrize("bits", ("7fffffffffffffff", "7ff0000000000000", "fff0000000000000"))
def test_what_is_no_number_has_no_text(bits):
    with pytest.raises(ValueError, match="not representable"):
        canonical_json({"a": [double(bits)]})


def test_the_sample_of_the_standard():
    sample = json.loads(
        r"""{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
             "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"""
    )
    assert canonical_json(sample) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_the_order_of_the_standard():
    sample = json.loads(
        r"""{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
             "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
             "\u00f6": "Latin Small Letter O With Diaeresis"}"""
    )
    assert list(json.loads(canonical_json(sample)).values()) == [
        "Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign",
        "Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh",
    ]  # fmt: skip


@given(VALUES)
def test_a_canonical_text_reads_back_and_is_its_own_canonical_text(value):
    text = canonical_json(value)
    again = json.loads(text, parse_int=as_other_languages)
    assert again == value and canonical_json(again) == text


@pytest.mark.parametrize(
    "value",
    [
        *[EXACT + 2, -EXACT - 2, 2**60, 10**400, {"a": [EXACT + 2]}, math.nan],
        *["\ud800", {"a": ["\ud800"]}, {"\udfff": 1}, {1: 2}, {"a": {2: "b"}}, [{1, 2}], b""],
    ],
)
def test_a_value_without_a_text_is_refused(value):
    with pytest.raises(ValueError):
        canonical_json(value)


def test_what_nests_too_deeply_is_refused_and_has_no_hash():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match="deep"):
        canonical_json(deep)
    assert not hashes_to(deep, "")


def test_one_value_has_one_text():
    one, other = {"b": 30.0, "a": (1, -0.0)}, {"a": [1.0, 0], "b": 30}
    assert canonical_json(one) == canonical_json(other) == '{"a":[1,0],"b":30}'


def test_seal_fits_only_untouched():
    document = {"limit": 30.0}
    assert with_self_hash(document)["sha256"] == sha256('{"limit":30}')
    assert has_valid_self_hash(with_self_hash(document))
    assert not has_valid_self_hash(with_self_hash(document) | {"limit": 31.0})
    assert not has_valid_self_hash(document)
    assert not hashes_to({"a": math.nan}, None), "what has no text"
