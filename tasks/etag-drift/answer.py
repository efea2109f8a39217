"""The documents whose served ETag is not the one that the mirror recorded."""

import json


def expected(world, processes):
    recorded = json.loads(world.text("ops/mirror.json"))["documents"]
    return [
        document["path"]
        for document in recorded
        if _etag(world, document["path"]) != document["etag"]
    ]


def _etag(world, path):
    return next(
        value for name, value in world.route(path).headers.items() if name.lower() == "etag"
    )
