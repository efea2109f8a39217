"""Rows and time of the last answer about an export, which every export of a world comes to."""

import json


def expected(world, processes):
    (start,) = [route for route in world.routes_at("/api/exports", "POST") if route.job]
    last = json.loads(start.job.steps[-1])
    return [f"{last['rows']} {last['finished_at']}"]
