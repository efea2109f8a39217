"""Hostile text stays text, in Markdown and in the HTML made of it."""

import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fluency.common.words import UNSEEN
from fluency.report.markdown import code, table, text, visible

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/x.png)",
    "[click](javascript:alert(1))",
    "a | b || c",
    "`` ` ``",
    "```\n# heading\n```",
    "line\n\n# heading\n\n- item",
    "\u202egnp.exe",
    "\x1b[31mred\x1b[0m",
    "&lt;b&gt;",
    "</code></td></table><h1>x</h1>",
    "www.evil.example https://evil.example a@b.example @someone #12",
    "*a* _b_ **c** ~~d~~ ^e^ $x$",
    "\\| \\` \\<b>",
    "| --- |\n| x |",
    " ` ",
    "[x]: http://evil.example",
    "- x\n1. y",
    "",
]
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []
        self.words = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words += data


def parsed(markdown) -> Tags:
    tags = Tags()
    tags.feed(MARKDOWN.render(markdown))
    return tags


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_words_stay_words(hostile):
    """As a code span, in a line of text, and in a table's cell."""
    found = parsed(f"- before {code(hostile)} after\n")
    assert found.tags == (["ul", "li", "code"] if hostile.strip() else ["ul", "li"])
    assert (visible(hostile).strip() or "(nothing)") in found.words
    found = parsed(f"before {text(hostile)} after\n")
    assert visible(hostile).replace("`", "") in found.words.replace("`", "")
    found = parsed(table(["a", "b"], [[text(hostile), "second"]]) + "\n")
    assert found.tags == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert "second" in found.words


@given(st.text(max_size=80))
def test_text_of_anything_makes_no_tag(hostile):
    assert parsed(f"before {text(hostile)} after\n").tags in (["p"], ["p", "code"])
    assert parsed(f"before {code(hostile)} after\n").tags in (["p"], ["p", "code"])


@given(st.text(max_size=200))
def test_visible_is_one_line(hostile):
    shown = visible(hostile)
    assert len(shown.splitlines()) <= 1
    assert not {unicodedata.category(char) for char in shown} & UNSEEN


def test_text_breaks_addresses():
    assert "://" not in text("see https://evil.example")
    assert "www." not in text("see WWW.evil.example").lower()
    assert "@" not in text("@someone")


def test_text_keeps_plain_numbers():
    line = 'gap +11.0 pp (bash 68.0 %; T=20), p<0.001, pass@1, task-01_a, "like these"'
    assert text(line) == line


def test_visible_cuts_long_text():
    assert visible("x" * 240) == "x" * 240
    assert visible("x" * 241) == "x" * 240 + "…"
    assert visible("abc", limit=2) == "ab…"


def test_text_keeps_code_spans_of_plain_words_only():
    for plain in ("run `make image`.", "`results/a/cells.csv` has `CONFIG=config/study.yaml`"):
        assert text(plain) == plain
    for hostile in ("`<b>`", "`a\nb`", "``a``b", "`a`b`", "[x](`y`)", "`https://a.b`", "`a|b`"):
        assert set(parsed(text(hostile)).tags) <= {"p", "code"} and "://" not in text(hostile)
        assert "|" not in text(hostile)
