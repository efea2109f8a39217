"""Readings of nine sensors whose latest is neither the greatest text nor the last line.

The latest values are odd in odd worlds and even in even ones.
"""

import datetime
import json

EAST = ("+02:00", "+05:30", "+09:30", "+01:00")
WEST = ("-08:00", "-03:30", "-05:00")
COUNTS = (3, 4, 5, 6, 7, 8, 4, 6, 5)


def extend(builder, rng):
    readings = []  # in the order of lines
    day = datetime.datetime(2026, 5, rng.between(3, 24), tzinfo=datetime.UTC)
    sensors = rng.sample([f"s-{number:02}" for number in range(1, 100)], len(COUNTS))
    for place, (sensor, count) in enumerate(zip(sensors, COUNTS, strict=True)):
        second = day + datetime.timedelta(seconds=rng.between(30_000, 80_000))
        fraction = rng.between(2, 9)
        latest = (
            sensor,
            _written(second, fraction, 1, rng.pick(WEST)),
            2 * rng.between(-20, 200) + builder.odd,
        )
        # Earlier, and greater as text: in the east it is later in the day.
        others = [
            _written(
                second - datetime.timedelta(seconds=rng.between(60, 5000)), None, 0, rng.pick(EAST)
            )
        ]
        first = []
        if place % 2:  # earlier in the same second and in the file, with more digits
            digits = rng.between(2, 3)
            twin = _written(
                second, fraction * 10 ** (digits - 1) - rng.between(1, 9), digits, rng.pick(WEST)
            )
            first.append((sensor, twin, rng.between(-40, 400)))
        while len(others) + len(first) < count - 1:
            before = datetime.timedelta(seconds=rng.between(6000, 60_000))
            offset = rng.pick((*EAST, *WEST, "Z"))
            digits = rng.below(4)
            others.append(_written(second - before, rng.below(10**digits), digits, offset))
        last, *rest = [(sensor, at, rng.between(-40, 400)) for at in rng.shuffled(others)]
        readings.append([*first, *rng.shuffled([latest, *rest]), last])
    lines = []
    while any(readings):
        sensor, at, value = rng.pick([left for left in readings if left]).pop(0)
        fields = {"sensor": sensor, "at": at, "value": value}
        reading = {name: fields[name] for name in rng.shuffled(fields)}
        lines.append(json.dumps(reading, separators=rng.pick(((",", ":"), (", ", ": ")))))
    builder.file("data/readings.jsonl", "\n".join(lines) + "\n")


def _written(instant, fraction, digits, offset):
    """An instant in RFC 3339 at an offset, with a fraction of so many digits."""
    hours, minutes = (int(part) for part in offset[1:].split(":")) if offset != "Z" else (0, 0)
    shift = datetime.timedelta(hours=hours, minutes=minutes)
    local = instant - shift if offset.startswith("-") else instant + shift
    return f"{local:%Y-%m-%dT%H:%M:%S}" + (f".{fraction:0{digits}}" if digits else "") + offset
