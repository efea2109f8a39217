"""Backups round New Year and round Sundays; an odd number is not kept in odd worlds, an even number
in even ones.

The first two and the last two of each service are of one day: loops in both directions end with
status 0.
"""

from datetime import date, timedelta

NAMES = ("billing", "graph2", "mesh-relay", "registry", "s3-cache", "search", "vox-db")
NEW_YEAR = {
    True: date(2025, 12, 29),
    False: date(2024, 12, 30),
}  # Mondays of weeks that have days of two years


def extend(builder, rng):
    short = rng.pick(("vox", "relay", "index"))
    services = [short, f"{short}-{rng.pick(('api', 'web', '2'))}", *rng.sample(NAMES, 3)]
    monday = NEW_YEAR[builder.odd]
    files, lost = [], 0
    for place, service in enumerate(services):
        later = monday + timedelta(weeks=rng.between(4, 9))
        days = [monday - timedelta(days=1), monday]  # Sunday and Monday: two weeks
        days += [
            monday + timedelta(days=rng.between(1, 2)),
            monday + timedelta(days=rng.between(3, 6)),
        ]
        days += [later + timedelta(days=6), later + timedelta(days=7)]
        days += [days[4]] * 2 if place in (0, 3) else []  # three on one day
        # The same date in the week of the same number a year later.
        week = [later + timedelta(days=number) for number in range(7)]
        pairs = [(day, day.replace(year=day.year + 1)) for day in week]
        days += next(pair for pair in pairs if len({day.isocalendar().week for day in pair}) == 1)
        days += [min(days), max(days)]
        times = rng.sample(range(24 * 60), len(days))
        own = sorted(
            {
                f"{day:%Y%m%d}-{time // 60:02d}{time % 60:02d}": day
                for day, time in zip(days, times, strict=True)
            }.items()
        )
        lost += len(own) - len({day.isocalendar()[:2] for _, day in own})
        files += [f"{service}-{stamp}.tar.zst" for stamp, _ in own]
    if lost % 2 != builder.odd:
        extra = f"{services[2]}-{monday + timedelta(days=1):%Y%m%d}-{rng.between(10, 23)}"
        files.append(
            next(name for m in range(60) if (name := f"{extra}{m:02d}.tar.zst") not in files)
        )
    for number, name in enumerate(rng.shuffled(files)):
        builder.file(f"backups/{name}", rng.bytes(20 + number), age_days=9 + number / 2)
    last = f"{monday + timedelta(days=6):%Y%m%d}-235"
    for number, service in enumerate(services[:3]):
        builder.file(
            f"backups/{service}-{last}{number}.tar.zst.partial", rng.bytes(10), age_days=8.5
        )
    builder.file(f"backups/{files[0]}.sha256", f"{rng.bytes(32).hex()}  {files[0]}\n", age_days=8.5)
    builder.file("backups/README", "Kept: one a week.\n")
