"""The id in the document to which the accepted POST leads."""

import json


def expected(world, processes):
    (document,) = {route.headers["Location"] for route in world.http if route.status == 303}
    (key,) = {
        json.loads(route.body)["id"] for route in world.routes_at(document) if route.status == 200
    }
    return [key]
