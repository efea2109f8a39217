"""A scrape with labels that need a parser; the sums add up to an odd number in odd worlds, to an
even one in even worlds."""

STATUSES = ("200", "201", "204", "301", "304", "400", "404", "429", "500", "503")
PATHS = (
    "/a b/{id}",
    "/items, more",
    'q=\\"x\\"',
    '/find?status=\\"500\\"',
    "/plain",
    "/tags/{tag},{page}",
    '/odd} status=\\"404\\" 7',
    "/v1/runs",
)
METHODS = ("GET", "POST", "PUT", "DELETE")
SERIES = 30


def extend(builder, rng):
    statuses = rng.sample(STATUSES, rng.between(4, 5))
    values = [rng.between(1, 90_000) for _ in range(SERIES)]
    values[0] += (sum(values) - builder.odd) % 2
    samples = []
    for number, value in enumerate(values):
        labels = [
            f'method="{rng.pick(METHODS)}"',
            f'path="{PATHS[number % len(PATHS)]}"',
            f'instance="n{number}"',
        ]
        labels += [f'grpc_status="{rng.between(0, 16)}"'] if rng.chance(40) else []
        labels += [f'status_class="{rng.pick(STATUSES)}"'] if rng.chance(40) else []
        labels = rng.shuffled([*labels, f'status="{statuses[number % len(statuses)]}"'])
        samples.append(_sample("http_requests_total", labels, _value(number, value)))
    # Series without the label, and metrics of other names.
    for number in range(3):
        labels = [
            f'method="{rng.pick(METHODS)}"',
            'grpc_status="0"',
            f'status_class="{rng.pick(statuses)}"',
        ]
        samples.append(
            _sample(
                "http_requests_total",
                [*labels, f'instance="m{number}"'],
                str(rng.between(1, 999)),
            )
        )
    samples.append(f"http_requests_total {rng.between(1000, 9999)}")
    for name in ("http_requests_total_errors", "grpc_http_requests_total", "http_requests"):
        samples.append(
            _sample(name, [f'status="{rng.pick(statuses)}"'], str(rng.between(100, 999)))
        )
    lines = [
        "# HELP http_requests_total Requests by status, for example",
        f'# http_requests_total{{status="{statuses[0]}"}} {rng.between(100, 999)}',
        "# TYPE http_requests_total counter",
        *rng.shuffled(samples),
    ]
    builder.file("data/metrics.prom", "\n".join(lines) + "\n")


def _value(number, value):
    """Some values with an exponent, some with a time stamp behind them."""
    text = f"{value / 1000:.3f}e+03" if number % 5 == 2 else str(value)
    return f"{text} {1_778_000_000_000 + 15_000 * number}" if number % 4 == 3 else text


def _sample(name, labels, value):
    """A line as client libraries write it: no blanks in or before the braces."""
    return f"{name}{{{','.join(labels)}}} {value}"
