"""Forty jobs, an odd number of them failed in odd worlds; the last one failed (a loop's status)."""

NAMES = ("backup", "export", "import", "mail", "reindex")


def extend(builder, rng):
    failed = rng.pick((5, 7) if builder.odd else (4, 6))
    others = [rng.pick(("DONE", "DONE", "SKIPPED")) for _ in range(40 - failed)]
    states = [*rng.shuffled(["FAILED"] * (failed - 1) + others), "FAILED"]
    numbers = rng.sample(range(100, 900), 40)
    # The first failed job has the highest number: sorted lines are in another order.
    numbers[states.index("FAILED")] = rng.between(990, 998)
    text = ""
    for number, state in zip(numbers, states, strict=True):
        text += f"job-{number} {rng.pick(NAMES)} {state} after {rng.between(2, 400)} s\n"
    builder.file("logs/jobs.log", text)
