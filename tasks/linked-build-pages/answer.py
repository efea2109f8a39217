"""The failed builds on all pages, from the first page by its Link headers."""

import json
import re
from urllib.parse import parse_qs, urljoin, urlsplit


def expected(world, processes):
    pages = {
        route.when.query.get("after"): route
        for route in world.routes_at("/api/builds")
        if route.status == 200
    }
    count, url = 0, "http://127.0.0.1:8765/api/builds"
    while url:
        page = pages[parse_qs(urlsplit(url).query).get("after", [None])[0]]
        count += sum(build["status"] == "failed" for build in json.loads(page.body))
        following = re.search(r'<([^>]*)>; rel="next"', page.headers["Link"])
        url = following and urljoin(url, following[1])
    return [str(count)]
