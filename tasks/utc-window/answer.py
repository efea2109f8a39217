"""The lines of half an hour, by instant."""

import re
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 5, 14, 10, tzinfo=UTC)


def expected(world, processes):
    by_time = {
        datetime.fromisoformat(line.split()[0]): line
        for path in world.under("logs")
        if re.fullmatch(r"logs/gateway\.log(\.\d+)?", path)
        for line in world.lines(path)
    }
    window = timedelta(minutes=30)
    return [line for time, line in sorted(by_time.items()) if BEGIN <= time < BEGIN + window]
