"""Processes with many threads, with just two, with the name of many and only one."""

from fluency.world import HelperSpec

NAMES = ("vox-fetch", "vox-mux", "vox-pool", "vox-sync")


def extend(builder, rng):
    # 11 threads at most in odd worlds, 10 in even ones: as text both sort below every smaller
    # number.
    threads = [11 if builder.odd else 10, rng.between(4, 7), 3, 2]
    while True:
        names, order = rng.shuffled(NAMES), rng.shuffled(range(4))
        named = dict(zip(names, threads, strict=True))
        started = [named[names[place]] for place in order]
        if not _sorted(_busy(started)) and not _sorted(
            _busy([named[name] for name in sorted(named)])
        ):
            break
    helpers = [_helper(names[place], named[names[place]]) for place in order]
    helpers.insert(rng.between(0, 4), HelperSpec("pool-mgr", "vox-pool-mgr", ("--threads", "40")))
    helpers.insert(rng.between(0, 5), _helper("not-vox-pool", 6))
    for helper in helpers:
        builder.process(helper)
    numbers = _busy(
        [len(helper.threads) + 1 for helper in builder.processes if helper.name.startswith("vox-")]
    )
    builder.require(
        len(numbers) == len(set(numbers)) == 3, "three processes with different numbers of threads"
    )
    builder.require(
        not _sorted(numbers),
        "the processes are started in another order than that of their threads",
    )


def _helper(name, threads):
    return HelperSpec(
        name, name, ("--serve",), threads=tuple(f"io-{number}" for number in range(1, threads))
    )


def _busy(numbers):
    return [number for number in numbers if number > 2]


def _sorted(numbers):
    return numbers in (sorted(numbers), sorted(numbers, reverse=True))
