"""The downloads of all releases but prereleases, over every page that is served."""

import json


def expected(world, processes):
    pages = [
        json.loads(route.body) for route in world.routes_at("/api/releases") if route.status == 200
    ]
    kept = [release for page in pages for release in page if not release["prerelease"]]
    return [str(sum(asset["downloads"] for release in kept for asset in release["assets"]))]
