"""Forty numbers; the largest has one digit more than the others, begins with 1 or 2, is odd in odd worlds."""


def extend(builder, rng):
    # As text 991 … 999 sort after the largest.
    others = rng.shuffled([rng.between(991, 999), *rng.sample(range(30, 990), 38)])
    others.insert(rng.between(8, 30), 2 * rng.between(600, 1400) + builder.odd)
    builder.file("data/latencies.txt", "\n".join(map(str, others)) + "\n")
