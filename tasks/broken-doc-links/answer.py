"""Targets of links in docs/src/ that are no file and no folder, each with its page."""

import posixpath
import re

LINK = re.compile(r"\]\(([^)]*)\)")


def expected(world, processes):
    there = {*world.files, *world.dirs}

    def leads_nowhere(page, target):
        return posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) not in there

    broken = []
    for page in world.under("docs/src"):
        links = LINK.findall(world.text(page)) if page.endswith(".md") else []
        targets = [
            link.partition("#")[0] for link in links if ":" not in link and not link.startswith("#")
        ]
        broken += [f"{target} {page}" for target in targets if leads_nowhere(page, target)]
    return broken
