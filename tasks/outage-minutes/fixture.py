"""Outages of five services round one day; all minutes together are odd in odd worlds, even in even
ones."""

from datetime import UTC, datetime, timedelta, timezone

DAY = datetime(2026, 5, 14, tzinfo=UTC)
SERVICES = ("auth", "billing", "cache", "gateway", "ingest", "mail", "registry", "search", "web")
OFFSETS = (-480, -420, -210, 60, 120, 330, 540)
WHOLE = 24 * 60


def extend(builder, rng):
    names = rng.sample(SERVICES, 5)
    # Minutes since the day began; None: it still lasts.
    over_start = (-rng.between(30, 400), rng.between(20, 90))
    over_end = (WHOLE - rng.between(30, 100), WHOLE + rng.between(20, 300))
    begin = rng.between(150, 300)
    nested = [(begin, begin + 200), (begin + 30, begin + 60), (begin + 90, begin + 120)]
    join = rng.between(600, 800)
    overlapping = [(join, join + 50), (join + 35, join + 90), (join + 90, join + 111)]
    again = (rng.between(1000, 1100), rng.between(1120, 1200))
    open_at = rng.between(1000, 1200)
    long = (-rng.between(500, 900), WHOLE + rng.between(100, 500))
    outages = [
        [over_start, *nested, again, again, over_end],
        [
            *overlapping,
            (rng.between(950, 1000), rng.between(1010, 1040)),
            (open_at, None),
            (open_at + 40, open_at + 70),
        ],
        [long, (rng.between(100, 200), rng.between(300, 400))],
        # On the day by UTC, not by the local date; and the other way round.
        [
            (20, 20 + rng.between(10, 60)),
            (WHOLE - 90, WHOLE - rng.between(10, 50)),
            (-100, -30),
            (WHOLE + 10, WHOLE + 50),
        ],
        [
            (-rng.between(500, 700), -rng.between(60, 400)),
            (WHOLE + 200, WHOLE + 260),
            (WHOLE + 300, None),
        ],
    ]
    total = sum(len(_minutes(own)) for own in outages)
    outages[1][3] = (outages[1][3][0], outages[1][3][1] + (total % 2 != builder.odd))
    lines = []
    for name, own in zip(names, outages, strict=True):
        local = own is outages[3]
        for place, (start, end) in enumerate(own):
            offset = (-660, 600, 330, -480)[place] if local else None
            lines.append(
                f"{name},{_time(rng, start, offset)},{'' if end is None else _time(rng, end, offset)}"
            )
    builder.file("ops/outages.csv", "\n".join(rng.shuffled(lines)) + "\n")


def _minutes(outages):
    return {
        minute
        for start, end in outages
        for minute in range(max(0, start), min(WHOLE, WHOLE if end is None else end))
    }


def _time(rng, minute, offset):
    offset = rng.pick((0, *OFFSETS)) if offset is None else offset
    moment = (DAY + timedelta(minutes=minute)).astimezone(timezone(timedelta(minutes=offset)))
    return moment.isoformat().replace("+00:00", "Z")
