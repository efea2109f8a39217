"""Containers that restart after a failure."""

import json


def expected(world, processes):
    rows = map(json.loads, world.lines("ops/containers.jsonl"))
    return [
        f"{row['Names']} {row['Image']}"
        for row in rows
        if row["State"] == "restarting" and not row["Status"].startswith("Restarting (0)")
    ]
