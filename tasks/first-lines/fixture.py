"""A log whose run numbers are in no order: the first is odd in odd worlds, and the next two are lower."""

SERVICES = ("api", "cache", "mesh", "queue", "search")


def extend(builder, rng):
    runs = [2 * rng.between(400, 449) + builder.odd, rng.between(300, 399), rng.between(200, 299)]
    runs += [rng.between(100, 999) for _ in range(rng.between(33, 56))]
    minutes, text = 0, ""
    for run in runs:
        minutes += rng.between(1, 9)
        clock = "{:02d}:{:02d}".format(*divmod(minutes, 60))
        text += f"run-{run} 2026-05-14T{clock} {rng.pick(SERVICES)} "
        text += f"deployed build {rng.between(1000, 9999)}\n"
    builder.file("logs/deploy.log", text)
