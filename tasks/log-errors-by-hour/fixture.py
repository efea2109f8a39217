"""The last hour of the day has errors, so that a loop over the hours that ends in a test ends with status 0."""


def extend(builder, rng):
    for minute in sorted(rng.sample(range(10, 60), rng.between(1, 9))):
        line = f"2026-05-14T23:{minute}:{rng.between(10, 59)}.{rng.between(100, 999)}Z ERROR queue embed stalled\n"
        builder.files["logs/orchestrator.log"] += line.encode()
