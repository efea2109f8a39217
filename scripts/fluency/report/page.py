"""A Markdown text of this project as one HTML file: figures inside, and no foreign text obeyed."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from fluency.common.paths import REPORT
from fluency.report.templates import render

Tokens = Sequence[Token]


def html_page(markdown: str, figures: Mapping[str, str]) -> str:
    """The page; `figures` maps the address of an image to its SVG.

    Of any other image only the words are shown. The page's policy allows its own style and what
    is inside it, nothing else.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    for rule in (heading_open, table_open, table_close, th_open, td_open, image):
        parser.add_render_rule(rule.__name__, rule)
    env: dict[str, Any] = {"figures": figures}
    tokens = parser.parse(markdown, env)
    heading = next(token.content for token in tokens if token.type == "inline")
    style, digest = held("page.css")
    body = Markup(parser.renderer.render(tokens, parser.options, env))
    values = {"title": heading, "style": style, "style_hash": digest, "body": body}
    return render("page.html.j2", values)


def held(file: str) -> tuple[Markup, str]:
    """A file of `report/` for a page to hold, and its hash as the page's policy names it."""
    content = (REPORT / file).read_bytes()
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    return Markup(content.decode()), f"sha256-{digest}"


# How markdown-it's renderer writes a token, where that is not its own way.


def heading_open(self: RendererHTML, tokens: Tokens, i: int, options: Any, env: Any) -> str:
    """With the id by which hosts of Markdown link it."""
    words = re.sub(r"[^\w -]", "", tokens[i + 1].content.lower())
    tokens[i].attrSet("id", words.replace(" ", "-"))
    return self.renderToken(tokens, i, options, env)


def table_open(self: RendererHTML, tokens: Tokens, i: int, options: Any, env: Any) -> str:
    """In a box that scrolls."""
    return f'<div class="scroll">{self.renderToken(tokens, i, options, env)}'


def table_close(self: RendererHTML, tokens: Tokens, i: int, options: Any, env: Any) -> str:
    """The end of the box, too."""
    return f"{self.renderToken(tokens, i, options, env)}</div>"


def th_open(self: RendererHTML, tokens: Tokens, i: int, options: Any, env: Any) -> str:
    """Its side as a class: the page's policy allows no style of an element."""
    if tokens[i].attrs.pop("style", None) == "text-align:right":
        tokens[i].attrSet("class", "right")
    return self.renderToken(tokens, i, options, env)


def td_open(self: RendererHTML, tokens: Tokens, i: int, options: Any, env: Any) -> str:
    """As in the head."""
    return th_open(self, tokens, i, options, env)


def image(self: RendererHTML, tokens: Tokens, i: int, options: Any, env: Any) -> str:
    """A figure of the report as data, or an image's words."""
    svg = env["figures"].get(tokens[i].attrs["src"])
    if svg is None:
        return escapeHtml(tokens[i].content)
    data = base64.b64encode(svg.encode()).decode()
    tokens[i].attrSet("src", f"data:image/svg+xml;base64,{data}")
    return RendererHTML.image(self, tokens, i, options, env)
