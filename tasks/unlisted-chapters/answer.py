"""Pages that no inline link outside HTML comments names."""

import re
from urllib.parse import unquote

ROOT = "docs/book/src/"
LINK = re.compile(r'\[[^\]]*\]\((?:<([^>]+)>|([^\s()]+))(?: "[^"]*")?\)')


def expected(world, processes):
    summary = re.sub(r"<!--.*?-->", "", world.text(f"{ROOT}SUMMARY.md"), flags=re.DOTALL)
    chapters = {
        ROOT + unquote(angled or plain).removeprefix("./")
        for angled, plain in LINK.findall(summary)
    }
    pages = [path for path in world.under("docs/book/src") if path.endswith(".md")]
    return [path for path in pages if path not in chapters and path != f"{ROOT}SUMMARY.md"]
