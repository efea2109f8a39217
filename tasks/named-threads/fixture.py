"""Processes with threads named vox-io; with those of the process of that name an odd number in odd
worlds."""

from fluency.world import HelperSpec

NAMES = ("vox-fetchd", "vox-pump", "vox-replay", "vox-mirror", "vox-tiles")
OTHERS = ("vox-io-2", "io", "timer", "vox-poll", "gc", "vox-iod")
WANTED = "vox-io"


def extend(builder, rng):
    def process(name, wanted, others):
        threads = (*[WANTED] * wanted, *rng.sample(OTHERS, others))
        return HelperSpec(name, name, ("--serve",), threads=tuple(rng.shuffled(threads)))

    # Threads without a name of their own have the process's.
    own = rng.between(1, 2)
    itself = HelperSpec(
        WANTED, WANTED, ("--serve",), threads=tuple(rng.shuffled([*[""] * own, rng.pick(OTHERS)]))
    )
    names = rng.sample(NAMES, rng.between(2, 3) + 1)
    counts = [rng.between(1, 3) for _ in names[1:]]
    counts[0] += (1 + own + sum(counts) + builder.odd) % 2
    users = [
        process(name, count, rng.between(1, 3))
        for name, count in zip(names[1:], counts, strict=True)
    ]
    decoys = [
        process(names[0], 0, 2),
        HelperSpec("io-capitals", "vox-IO", ("--serve",)),
        HelperSpec("io-gc", "vox-io-gc", ("--serve",), threads=("vox-io-2", "io")),
        HelperSpec("not-vox", "net-vox-io", ("--serve",), threads=(WANTED, WANTED)),
    ]
    # The last one is among those asked for.
    for helper in (*rng.shuffled([itself, *users[1:], *decoys]), users[0]):
        builder.process(helper)
