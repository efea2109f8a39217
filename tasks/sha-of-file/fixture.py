"""Two models of random bytes."""


def extend(builder, rng):
    for name in ("ranker", "tagger"):
        builder.file(f"models/{name}.bin", rng.split(name).bytes(rng.between(12_000, 40_000)))
