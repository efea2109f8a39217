"""Two models of random bytes; the size of the one asked for is odd in odd worlds."""


def extend(builder, rng):
    size = 2 * rng.between(6_000, 20_000) + builder.odd
    builder.file("models/ranker.bin", rng.split("ranker").bytes(size))
    builder.file("models/tagger.bin", rng.split("tagger").bytes(rng.between(42_000, 60_000)))
