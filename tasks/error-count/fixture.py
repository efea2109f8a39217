"""A log of three levels, an odd number of its lines errors in odd worlds."""

SAID = {
    "INFO": ("request served", "cache warm"),
    "WARN": ("slow reply", "error page sent"),
    "ERROR": ("no reply", "bad token"),
}


def extend(builder, rng):
    errors = 2 * rng.between(5, 11) + builder.odd
    quiet = [rng.pick(("INFO", "WARN")) for _ in range(rng.between(60, 80) - errors)]
    text = ""
    for place, level in enumerate(rng.shuffled(["ERROR"] * errors + quiet)):
        minute, half = divmod(place, 2)
        text += f"2026-05-14T09:{minute:02d}:{30 * half:02d} {level} "
        text += f"{rng.pick(SAID[level])} {rng.between(100, 999)}\n"
    text += "2026-05-14T10:00:00 INFO error budget 100\n"
    builder.file("logs/gateway.log", text)
