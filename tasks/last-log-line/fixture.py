"""A log of numbered lines, an odd number of them in odd worlds."""

SERVICES = ("api", "cache", "mesh", "queue", "search")


def extend(builder, rng):
    minutes, text = 0, ""
    for number in range(1, 2 * rng.between(18, 29) + builder.odd + 1):
        minutes += rng.between(1, 9)
        clock = "{:02d}:{:02d}".format(*divmod(minutes, 60))
        text += f"{number} 2026-05-14T{clock} {rng.pick(SERVICES)} "
        text += f"deployed build {rng.between(1000, 9999)}\n"
    builder.file("logs/deploy.log", text)
