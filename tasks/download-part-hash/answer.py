"""The SHA-256 of the parts that are served, one behind the other by index."""

import hashlib
import json


def expected(world, processes):
    parts = json.loads(world.route("/dist/image.json").body)["parts"]
    digest = hashlib.sha256()
    for part in sorted(parts, key=lambda part: part["index"]):
        route = world.route(part["path"])
        while "Location" in route.headers:
            route = world.route(route.headers["Location"])
        digest.update(route.body)
    return digest.hexdigest()
