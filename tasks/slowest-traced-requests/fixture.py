"""A trace around midnight: fourteen requests whose records are out of order, and records of no
request."""

import json
from datetime import datetime, timedelta

MIDNIGHT = datetime(2026, 5, 15)
# Seconds of the five longest requests, then of the others; requests of no duration have one record.
LONGEST = ((200, 225), (100, 140), (60, 95), (25, 42), (12, 17))
OTHERS = ((7, 9), (5, 6), (4, 6), (3, 4), (2, 3), (1, 2), (1, 2), None, None)


def extend(builder, rng):
    ids = [
        f"r-{number:04x}" for number in rng.sample(range(4096, 65536), len(LONGEST) + len(OTHERS))
    ]
    records = []
    for place, (name, band) in enumerate(zip(rng.shuffled(ids), LONGEST + OTHERS, strict=True)):
        times = _times(rng, builder.odd, band) if band else [(0, 0)]
        # The three longest run over midnight.
        start = (
            -rng.between(20, 80) * times[-1][0] // 100
            if place < 3
            else rng.between(-600_000, 600_000)
        )
        records += [(start + at, start + line, name) for at, line in times]
    for number in range(17):
        at = -900_000 + number * 110_000 + rng.below(90_000)
        records += [(at, at + rng.between(-30_000, 30_000), None)]
    lines = []
    for at, _, name in sorted(records, key=lambda record: record[1]):
        stamp = (MIDNIGHT + timedelta(milliseconds=at)).isoformat(timespec="milliseconds") + "Z"
        fields = [
            ("ts", stamp),
            ("level", rng.pick(("info", "debug"))),
            ("message", _message(rng, ids)),
        ]
        if name:
            fields += [
                (
                    "request",
                    dict(
                        rng.shuffled([("id", name), ("route", rng.pick(("/v1/embed", "/login")))])
                    ),
                )
            ]
        elif rng.chance(50):
            fields += [("request", None)]
        lines += [
            json.dumps(
                dict(rng.shuffled(fields)), separators=(",", ":") if rng.chance(60) else None
            )
        ]
    builder.file("logs/trace.jsonl", "\n".join(lines) + "\n")


def _times(rng, odd, band):
    """Of each record of a request the milliseconds since its start, and those by which its line is
    ordered.

    Durations are odd in odd worlds and even in even ones, and never whole seconds. Among the
    longest requests the earliest record stands after the next one, the latest before the one before
    it.
    """
    duration = rng.between(*band) * 1000 + 2 * rng.between(1, 499) + odd
    if duration < 12_000:
        inner = [rng.below(duration) for _ in range(rng.below(4))]
        times = [0, *sorted(inner), duration]
        return [(at, at + rng.between(-20_000, 20_000)) for at in times]
    near, far = rng.between(500, 3000), duration - rng.between(500, 3000)
    inner = [(at, at) for at in (rng.between(near, far) for _ in range(rng.below(4)))]
    return [
        (0, near + rng.between(1000, 50_000)),
        (near, near),
        *inner,
        (far, far),
        (duration, far - 40_000),
    ]


def _message(rng, ids):
    return rng.pick(
        (
            "accepted",
            "queued",
            "embedding",
            f"retry of {rng.pick(ids)}",
            f"waits for {rng.pick(ids)}",
        )
    )
