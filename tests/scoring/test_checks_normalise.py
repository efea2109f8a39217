"""What a check forgives is the same however often it is forgiven."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluency.scoring import checks

TEXT = st.text(alphabet=st.sampled_from("ab0 \t\r\n\x1b[]31;mK\x07\\/.\ufeffé"), max_size=60)
WORDS = st.lists(st.text(alphabet="abcXYZ019-_./é", min_size=1, max_size=8), min_size=1, max_size=4).map(" ".join)
LINES = st.lists(WORDS, max_size=8)


def through(text: str) -> list[str]:
    return checks.output_lines(checks.clean(text.encode()))


@given(TEXT)
@settings(max_examples=500)
def test_it_is_idempotent(text):
    once = through(text)
    assert through("\n".join(once)) == once


@given(st.binary(max_size=200))
def test_any_bytes_become_lines(raw):
    for line in checks.output_lines(checks.clean(raw)):
        assert line == line.strip(" \r\t")
        assert line
        assert "\n" not in line


@given(LINES)
def test_plain_lines_stay_as_they_are(lines):
    assert through("\n".join(lines)) == lines


@given(LINES, st.integers(0, 3), st.sampled_from(["\x1b[0m", "\x1b[1;32m", "\x1b[38;5;9m", "\x1b[K", ""]))
def test_line_ends_marks_colour_and_padding_change_nothing(lines, pad, colour):
    dressed = [f"{' ' * pad}{colour}{line.replace(' ', ' ' * (pad + 1))}{colour}{chr(9) * pad}" for line in lines]
    assert through("\ufeff" + "\r\n".join(dressed) + "\r\n\r\n") == lines


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", []),
        (b" \n\t\r\n", []),
        (b"a\tb\n", ["a b"]),
        (b"a\0b\n", ["a\0b"]),
        (b"a\xffb\n", ["a\N{REPLACEMENT CHARACTER}b"]),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", ["link"]),
        (b"\x1b]0;a title\x07a\n", ["a"]),
        (b"\x1b]0;never ended\na\r\nb\x07c\n", ["a", "b\x07c"]),
        (b"a \x1b]0;never ended\r\nb\n\x1b]0;another\x1b\\c\n", ["a", "b", "c"]),
        (b"a\n\x1b]0;never ended", ["a"]),
        (b"\x1b[\x1b[31m31mx", ["[31mx"]),
        (b"a\rb\n", ["a\rb"]),
        ("a\N{NO-BREAK SPACE}b\N{LINE SEPARATOR}c".encode(), ["a\N{NO-BREAK SPACE}b\N{LINE SEPARATOR}c"]),
    ],
)
def test_the_corners(raw, lines):
    assert checks.output_lines(checks.clean(raw)) == lines


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("crates/a/b.rs", "crates/a/b.rs"),
        ("./crates/a/b.rs", "crates/a/b.rs"),
        ("././crates/a/b.rs", "crates/a/b.rs"),
        ("/work/crates/a/b.rs", "crates/a/b.rs"),
        ("/work/./crates/a/b.rs", "crates/a/b.rs"),
        ("crates//a/./b.rs", "crates/a/b.rs"),
        ("crates/.hidden", "crates/.hidden"),
        ("crates/a./b", "crates/a./b"),
        (".github/x", ".github/x"),
        ("crates/a/", "crates/a/"),
        ("crates/a/../b", "crates/a/../b"),
        ("/workspace/crates", "/workspace/crates"),
        ("/tmp/work/crates", "/tmp/work/crates"),
        ("work/crates", "work/crates"),
        ("a file with spaces", "a file with spaces"),
    ],
)
def test_paths(written, path):
    assert checks.relative_path(written) == path


@given(st.text(alphabet="./wok", max_size=24))
def test_a_path_is_normalised_once_and_for_all(written):
    once = checks.relative_path(written)
    assert checks.relative_path(once) == once
