"""Nine backups; which one is the largest differs between odd and even worlds."""

SIZES = (85, 90, 640, 970, 5_200, 7_300, 8_900, 9_700)
SMALLER = ("accounts", "users")
"""First and last by name: never the largest."""
ODD, EVEN = ("catalog", "ledger", "queues"), ("billing", "events", "orders", "search")


def extend(builder, rng):
    largest = rng.pick(ODD if builder.odd else EVEN)
    others = [name for name in rng.shuffled((*SMALLER, *ODD, *EVEN)) if name != largest]
    sizes = {name: size + rng.below(9) for name, size in zip(others, SIZES, strict=True)}
    sizes[largest] = rng.between(12_000, 48_000)
    newest = rng.pick(others)
    for name in sorted(sizes):
        age = 3 if name == newest else rng.between(9, 50)
        builder.file(f"backups/{name}.bak", "x" * sizes[name], age_days=age)
