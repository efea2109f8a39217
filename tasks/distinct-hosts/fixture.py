"""Thirty host names, an odd number of different ones in odd worlds; one occurs only once."""

HOSTS = [f"{kind}-{number:02d}" for kind in ("db", "mesh", "web") for number in range(1, 8)]


def extend(builder, rng):
    different = rng.pick((7, 9) if builder.odd else (8, 10))
    once, *repeated = rng.sample(HOSTS, different)
    first, *rest = repeated + [rng.pick(repeated) for _ in range(30 - different)]
    lines = [first, *rng.shuffled(rest)]
    # Never first or last: a command that drops an end of the file would otherwise lose just this.
    lines.insert(rng.between(5, 25), once)
    builder.file("data/hosts.txt", "".join(f"{line}\n" for line in lines))
