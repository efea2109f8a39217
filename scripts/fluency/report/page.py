"""A Markdown text of this project as one HTML file: figures inside, and no foreign text obeyed."""

import base64
import hashlib
import re
from collections.abc import Mapping

from markdown_it import MarkdownIt
from markupsafe import Markup

from fluency.common.paths import REPORT
from fluency.report.templates import render


def html_page(markdown: str, figures: Mapping[str, str]) -> str:
    """The page; `figures` maps the address of an image to its SVG.

    Of any other image only the words are shown. The page's policy allows its own style and what
    is inside it, nothing else.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following:  # the id by which hosts of Markdown link it
            words = re.sub(r"[^\w -]", "", following.content.lower())
            token.attrSet("id", words.replace(" ", "-"))
        if token.attrs.pop("style", None) == "text-align:right":  # the policy allows no such style
            token.attrSet("class", "right")
        for image in (child for child in token.children or () if child.type == "image"):
            if svg := figures.get(str(image.attrs["src"])):
                data = base64.b64encode(svg.encode()).decode()
                image.attrSet("src", f"data:image/svg+xml;base64,{data}")
            else:
                image.type = "text"
    heading = next(token.content for token in tokens if token.type == "inline")
    style, digest = held("page.css")
    body = parser.renderer.render(tokens, parser.options, {})
    # In boxes that scroll; no text has these tags, since its own are escaped.
    body = body.replace("<table>", '<div class="scroll"><table>')
    body = Markup(body.replace("</table>", "</table></div>"))
    values = {"title": heading, "style": style, "style_hash": digest, "body": body}
    return render("page.html.j2", values)


def held(file: str) -> tuple[Markup, str]:
    """A file of `report/` for a page to hold, and its hash as the page's policy names it."""
    content = (REPORT / file).read_bytes()
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    return Markup(content.decode()), f"sha256-{digest}"
