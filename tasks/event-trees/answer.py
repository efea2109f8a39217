"""Each root of logs/events.jsonl with the number of events below it."""

import json


def expected(world, processes):
    parents = {
        event["id"]: event["parent"] for event in map(json.loads, world.lines("logs/events.jsonl"))
    }
    below = {one: 0 for one, parent in parents.items() if parent is None}
    for one in parents:
        root = one
        while parents[root] is not None:
            root = parents[root]
        below[root] += root != one
    return [f"{root} {count}" for root, count in below.items()]
