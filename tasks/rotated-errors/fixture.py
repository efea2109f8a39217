"""A rotated log with entries of several lines; an odd number of errors in odd worlds, an even one
in even ones."""

from fluency.world import gzipped

CALM = (
    "queue drained",
    "retry after ERROR response",
    "state ERROR cleared",
    "peer joined",
    "ERROR count is 0",
)
WRONG = ("write failed", "peer lost", "checksum differs", "queue stalled")
MORE = (
    "    at relay::send",
    "\tat mesh::route",
    "  caused by: timeout",
    "    ERROR in the reply",
    "\tpeer closed",
)


def extend(builder, rng):
    parts = rng.between(11, 12)
    errors = [rng.between(1, 3) for _ in range(parts)]
    errors[2] = rng.between(2, 3)
    errors[5] = 1 + (sum(errors[:5] + errors[6:]) % 2 == builder.odd)
    closing = rng.sample(range(parts), 2)
    for part in range(parts):
        data = _part(rng, errors[part], part in closing, part).encode()
        name = "logs/relay.log" + (f".{part}" if part else "") + (".gz" if part > 1 else "")
        # The time of modification agrees with the number.
        builder.file(
            name,
            gzipped(data) if part > 1 else data,
            age_days=0.5 + part if part < 5 else 8.5 + part,
        )
    for name in ("relay.log.bak", "relay.log.1.orig"):
        builder.file(f"logs/{name}", _part(rng, 2, False, 90), age_days=rng.between(9, 30))
    builder.file("logs/relay-api.log.2.gz", gzipped(_part(rng, 2, False, 91).encode()), age_days=11)


def _part(rng, errors, closing, part):
    """Entries of one part; one of several errors stands first, another one, with more lines, last
    if it is `closing`."""
    levels = ["ERROR"] * errors + [
        rng.pick(("INFO", "WARN", "DEBUG")) for _ in range(rng.between(6, 9))
    ]
    entries = []
    for level in rng.shuffled(levels):
        text = (
            f"{rng.pick(WRONG)} #{part}-{rng.between(100, 999)}"
            if level == "ERROR"
            else rng.pick(CALM)
        )
        more = [rng.pick(MORE) for _ in range(rng.between(1, 3))] if rng.chance(55) else []
        entries.append((level, text, more))
    wrong = [entry for entry in entries if entry[0] == "ERROR"]
    first = wrong[:1] if errors > 1 else []
    last = [(*wrong[-1][:2], ["    at relay::flush"])] if closing else [("INFO", "part closed", [])]
    entries = [
        entry for entry in entries if entry not in first and not (closing and entry is wrong[-1])
    ]
    entries = [
        *first,
        ("Error", "in the reply, asked again", []),
        ("WARN", "slow reply", ["    after 08:15:02 ERROR 7 of the peer"]),
        *entries,
        *last,
    ]
    second, lines = rng.between(0, 5000), []
    for level, text, more in entries:
        second += rng.between(1, 4000)
        lines += [
            f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d} {level} {text}",
            *more,
        ]
    return "\n".join(lines) + "\n"
