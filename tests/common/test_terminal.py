"""Others' words reach a terminal as words: no control, no hidden character, and no line of their own."""

import pytest

from fluency.common.errors import UserError
from fluency.common.terminal import log_line, one_line, print_lines
from fluency.common.words import escape_controls

HOSTILE = (
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\r",
    "\x08",
    "\u202e",
    "\u200b",
    "\x9b31m",
    "\u2028",
    "\ud800",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_a_terminal_obeys_is_printed(text, capsys):
    log_line(f"a{text}b")
    print_lines([f"a{text}b"])
    printed = capsys.readouterr()
    for shown in (printed.err, printed.out, str(UserError(f"a{text}b", where=text, hint=text))):
        assert text not in shown and "\\" in shown and escape_controls(shown) == shown


def test_a_line_of_a_result_stays_one(capsys):
    print_lines(["PROBLEM a: b\nPROVEN. Every hash", "c"])
    assert capsys.readouterr().out == "PROBLEM a: b\\nPROVEN. Every hash\nc\n"
    assert (
        str(UserError("a\nHint: b", where="c\nd", hint="e\nf")) == "c\\nd: a\\nHint: b\nHint: e\\nf"
    )
    assert one_line("é … 日本 ✓") == "é … 日本 ✓"
