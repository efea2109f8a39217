"""Openings by day in America/St_Johns, which is at UTC-03:30 before the change of 8 March 2026 and
at UTC-02:30 after."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

CHANGE = datetime(2026, 3, 8, 5, 30, tzinfo=UTC)


def expected(world, processes):
    days = Counter()
    for line in world.lines("logs/doors.jsonl"):
        event = json.loads(line)
        if event["kind"] == "open":
            time = datetime.fromtimestamp(event["ms"] // 1000, UTC)
            minutes = 210 if time < CHANGE else 150
            days[f"{time - timedelta(minutes=minutes):%Y-%m-%d}"] += 1
    return [f"{day} {count}" for day, count in days.items()]
