"""Foreign text reaches a terminal without control or hidden characters, and adds no line."""

import os
import sys

import pytest

from fluency.common.errors import UserError
from fluency.common.terminal import log_line, one_line, print_lines
from fluency.common.words import escape_controls

HOSTILE = ["\x1b[2J", "\x1b]0;title\x07", "\r", "\x08"]
HOSTILE += ["\u3164", "\u115f", "\u034f", "\ufe0f", "\U000e0100", "\u2800", "\ufff3"]
HOSTILE += ["\u202e", "\u200b", "\x9b31m", "\u2028", "\ud800"]


@pytest.mark.parametrize("text", HOSTILE)
def test_printed_text_has_no_controls(text, capsys):
    log_line(f"a{text}b")
    print_lines([f"a{text}b"])
    printed = capsys.readouterr()
    for shown in (printed.err, printed.out, str(UserError(f"a{text}b", where=text, hint=text))):
        assert text not in shown and "\\" in shown and escape_controls(shown) == shown


def test_printed_line_stays_one_line(capsys):
    print_lines(["PROBLEM a: b\nPROVEN. Every hash", "c"])
    assert capsys.readouterr().out == "PROBLEM a: b\\nPROVEN. Every hash\nc\n"
    said = str(UserError("a\nHint: b", where="c\nd", hint="e\nf"))
    assert said == "c\\nd: a\\nHint: b\nHint: e\\nf"
    assert one_line("é … 日本 ✓") == "é … 日本 ✓"


def test_log_line_survives_a_closed_terminal(monkeypatch):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as closed:
        monkeypatch.setattr(sys, "stderr", closed)
        log_line("hello")
        os.dup2(os.open(os.devnull, os.O_WRONLY), write_end)  # for what is still in the buffer
    log_line("hello")
