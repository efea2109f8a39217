"""The scopes above 90 percent of their limit, with what is left of it."""

import json


def expected(world, processes):
    moved = world.route("/api/usage").headers["Location"]
    (served,) = [route for route in world.routes_at(moved) if route.status == 200]
    near = [
        entry
        for entry in json.loads(served.body)["limits"]
        if entry["used"] * 100 > entry["limit"] * 90
    ]
    return [f"{entry['scope']} {entry['limit'] - entry['used']}" for entry in near]
