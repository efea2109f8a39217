"""The commands of ops/crontab that are due at 14:30 on 15 May 2026, by crontab(5)."""

import datetime

NOW = datetime.datetime(2026, 5, 15, 14, 30)
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def expected(world, processes):
    entries = [
        line.split(None, 5)
        for line in world.lines("ops/crontab")
        if line[:1].isdigit() or line[:1] == "*"
    ]
    return [command for *fields, command in entries if _due(fields)]


def _due(fields):
    weekday = NOW.isoweekday() % 7
    minute, hour, day, month, week = map(_values, fields, RANGES)
    on_day, on_weekday = NOW.day in day, bool({weekday, weekday or 7} & week)
    # With both restricted either will do; one that begins with * does not restrict.
    starred = fields[2].startswith("*") or fields[4].startswith("*")
    day_fits = on_day and on_weekday if starred else on_day or on_weekday
    return NOW.minute in minute and NOW.hour in hour and NOW.month in month and day_fits


def _values(field, limits):
    values = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        low, high = limits if span == "*" else (int(first), int(last or first))
        values |= set(range(low, high + 1, int(step or 1)))
    return values
