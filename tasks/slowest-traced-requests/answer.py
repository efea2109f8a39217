"""The five requests with the longest time between their earliest and latest record, in
milliseconds."""

import json
from datetime import datetime, timedelta


def expected(world, processes):
    times = {}
    for record in map(json.loads, world.lines("logs/trace.jsonl")):
        if record.get("request"):
            stamp = datetime.fromisoformat(record["ts"].replace("Z", "+00:00"))
            times.setdefault(record["request"]["id"], []).append(stamp)
    durations = {
        name: (max(own) - min(own)) // timedelta(milliseconds=1) for name, own in times.items()
    }
    return [
        f"{name} {durations[name]}"
        for name in sorted(durations, key=durations.get, reverse=True)[:5]
    ]
