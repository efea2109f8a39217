"""A log in eleven parts; the window holds an odd number of lines in odd worlds.

The last line of each part is in the window, for loops that end in a test.
"""

from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 5, 14, 10, tzinfo=UTC)
WINDOW = 30 * 60_000
"""In milliseconds, as all times here, counted from the begin."""
DAY = 24 * 60 * 60_000
ZONES = {"Z": 0, "+02:00": 120, "-07:00": -420, "+05:30": 330, "-03:30": -210, "+09:00": 540}
EVENTS = (
    "INFO GET /v1/items 200",
    "INFO peer joined",
    "WARN retry after 2026-05-14T10:15:00Z",
    "WARN limit raised at 10:20",
    "ERROR upstream timed out",
)


def extend(builder, rng):
    def line(time, zone):
        local = BEGIN + timedelta(milliseconds=time, minutes=ZONES[zone])
        fraction = f".{time % 1000:03d}" if time % 1000 else ""
        text = f"{rng.pick(EVENTS)} #{rng.between(100, 999)}"
        return f"{local:%Y-%m-%dT%H:%M:%S}{fraction}{zone} {text}"

    def anywhere(times):
        return [line(time, rng.pick(tuple(ZONES))) for time in times]

    # Two within 3 ms, of which the later one comes first as text.
    close = 1000 * rng.between(300, 1500)
    inside = [line(close + 251, "+09:00"), line(close + 254, "-07:00")]
    seconds = rng.sample([s for s in range(1, 1799) if s != close // 1000], 16)
    count = rng.pick((13, 15) if builder.odd else (12, 14))
    times = [1000 * second + rng.pick((0, rng.below(1000))) for second in seconds[: count - 2]]
    inside += anywhere([0, WINDOW - 100, *times])

    near = [WINDOW, WINDOW + 100, -100, -1000, DAY + 60_000 * rng.between(1, 29), 900_000 - DAY]
    far = [rng.pick((1, -1)) * (WINDOW + 1000 * rng.between(60, 36_000)) for _ in range(30)]
    outside = anywhere(dict.fromkeys([*near, *far]))
    # 10:00 to 10:30 of another zone.
    for zone, minutes in list(ZONES.items())[1:]:
        outside += [line(rng.between(1, WINDOW - 1) - 60_000 * minutes, zone) for _ in range(3)]

    inside = rng.shuffled(inside)
    parts = [[] for _ in range(11)]
    for text in rng.shuffled(inside[11:] + outside):
        rng.pick(parts).append(text)
    for number, part in enumerate(parts):
        name = f"logs/gateway.log.{number}".removesuffix(".0")
        age = 0.5 + number if number < 5 else 9.0 + number
        builder.file(name, "\n".join([*part, inside[number]]) + "\n", age_days=age)
    for name in ("gateway.log.bak", "gateway.log.1.old", "old-gateway.log.2"):
        lines = anywhere(rng.between(1, WINDOW - 1) for _ in range(3))
        builder.file(f"logs/{name}", "\n".join(lines) + "\n")
