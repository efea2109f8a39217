"""A request log of five routes: agents with commas, slow requests of other statuses, one route with
a single record."""

ROUTES = ("/api/crates", "/api/models", "/api/runs", "/api/search", "/login", "/v1/embed")
AGENTS = (
    "curl/8.5.0",
    "vox-cli/0.5.0",
    '"Mozilla/5.0 (X11, Linux)"',
    '"vox ""nightly"", 200, /login"',
    '"probe, 200, 7"',
)
# Numbers of records whose rank is another one with 94 percent, and with 96; no number is a multiple
# of 20.
LESS = (*range(34, 40), *range(51, 59))
MORE = (23, 24, *range(41, 50))
ANY = tuple(count for count in range(23, 65) if count % 20)


def extend(builder, rng):
    counts = dict(
        zip(
            rng.shuffled(ROUTES),
            (rng.pick(LESS), rng.pick(MORE), rng.pick(ANY), rng.pick(ANY)),
            strict=False,
        )
    )
    records = [(route, 200, ms) for route, count in counts.items() for ms in _distinct(rng, count)]
    # One record alone, of an odd value in odd worlds and an even one in even worlds.
    records += [("/v1/export", 200, 2 * rng.between(3, 480) + builder.odd)]
    records += [
        (route, rng.pick((404, 429, 500)), rng.between(5000, 9999))
        for route in counts
        for _ in range(7)
    ]
    lines, second = ["time,method,route,agent,status,ms"], 0
    for route, status, ms in rng.shuffled(records):
        second += rng.between(1, 9)
        time = f"2026-05-14T09:{second // 60 % 60:02d}:{second % 60:02d}Z"
        lines += [
            f"{time},{rng.pick(('GET', 'GET', 'POST'))},{route},{rng.pick(AGENTS)},{status},{ms}"
        ]
    builder.file("data/latency.csv", "\n".join(lines) + "\n")


def _distinct(rng, count):
    """Distinct values of one to four digits."""
    few = count // 5
    bands = ((2, 99, few), (100, 999, few), (1000, 4999, count - 2 * few))
    return [ms for low, high, part in bands for ms in rng.sample(range(low, high + 1), part)]
