"""Minutes of one day on which each service was down, by the union of its outages."""

from datetime import datetime, timedelta

DAY = datetime.fromisoformat("2026-05-14T00:00:00+00:00")
MINUTE = timedelta(minutes=1)


def expected(world, processes):
    down = {}
    for line in world.lines("ops/outages.csv"):
        service, start, end = line.split(",")
        first = max(0, _minute(start))
        last = min(24 * 60, _minute(end)) if end else 24 * 60
        down.setdefault(service, set()).update(range(first, last))
    return [f"{service} {len(minutes)}" for service, minutes in down.items() if minutes]


def _minute(time):
    return (datetime.fromisoformat(time.replace("Z", "+00:00")) - DAY) // MINUTE
