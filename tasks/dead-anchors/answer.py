"""Links of the manual to anchors that their page has not, by GitHub's rules for anchors of
headings."""

import posixpath
import re

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"(#{1,6})[ ]+(.*)")


def expected(world, processes):
    pages = [
        path for path in world.under("docs/manual") if posixpath.dirname(path) == "docs/manual"
    ]
    anchors = {page: set(_anchors(world.lines(page))) for page in pages if page.endswith(".md")}
    dead = []
    for page in anchors:
        for link in LINK.findall(world.text(page)):
            target, mark, anchor = link.partition("#")
            if (
                mark
                and ":" not in target
                and anchor not in anchors[f"docs/manual/{target}" if target else page]
            ):
                dead.append(f"{link} {page}")
    return dead


def _anchors(lines):
    code = False
    for line in lines:
        if line.startswith("```"):
            code = not code
        elif not code and (heading := HEADING.fullmatch(line)):
            yield re.sub(r"[^\w\- ]", "", heading[2].strip().lower(), flags=re.ASCII).replace(
                " ", "-"
            )
