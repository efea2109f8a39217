"""A page of 200 lines; the last line that is asked for has an odd number of words in odd worlds."""

WORDS = [
    "check",
    "peer",
    "queue",
    "store",
    "drain",
    "ledger",
    "window",
    "retry",
    "budget",
    "shard",
    "replica",
    "mesh",
]


def extend(builder, rng):
    def sentence():
        return " ".join(rng.sample(WORDS, rng.between(3, 8)))

    lines = []
    for _ in range(200):
        start = rng.pick(("", "", "", "    ", "- ", f"{rng.between(1, 99)}: "))
        lines.append("" if rng.chance(20) else f"{start}{sentence()}")
    lines[9] = lines[121] = lines[125] = ""
    lines[117], lines[130] = sentence(), " ".join(rng.sample(WORDS, 5 if builder.odd else 4))
    lines[123] = f"    {sentence()}"
    lines[127] = f"12: {sentence()}"
    builder.file("docs/handbook.md", "\n".join(lines) + "\n")
