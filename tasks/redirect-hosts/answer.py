"""Redirects by the host of the link, codes compared exactly."""

import json
from collections import Counter
from urllib.parse import urlsplit


def expected(world, processes):
    links = json.loads(world.text("data/links.json"))
    used = [line.split(" ") for line in world.lines("logs/redirects.log")]
    counts = Counter(
        urlsplit(links[code]).hostname
        for _, code, status in used
        if status == "302" and code in links
    )
    return [f"{host} {count}" for host, count in counts.items()]
